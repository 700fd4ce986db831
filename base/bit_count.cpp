#include "base/bit_count.hpp"

#include <bit>

#include "base/simd_target.hpp"

namespace retable {
namespace {

std::int64_t Portable(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  std::int64_t ones = 0;
  for (std::size_t w = 0; w < words; ++w) ones += std::popcount(a[w] ^ b[w]);
  return ones;
}

#if defined(RETABLE_X86)

__attribute__((target("popcnt"))) std::int64_t Popcnt(const std::uint64_t* a,
                                                      const std::uint64_t* b, std::size_t words) {
  std::int64_t ones[4] = {};  // one sum would wait for itself
  std::size_t w = 0;
  for (; w + 4 <= words; w += 4) {
    for (std::size_t i = 0; i < 4; ++i) ones[i] += __builtin_popcountll(a[w + i] ^ b[w + i]);
  }
  for (; w < words; ++w) ones[0] += __builtin_popcountll(a[w] ^ b[w]);
  return ones[0] + ones[1] + ones[2] + ones[3];
}

RETABLE_AVX512_POPCNT std::int64_t Wide(const std::uint64_t* a, const std::uint64_t* b,
                                        std::size_t words) {
  std::int64_t sum = 0;
  std::size_t w = 0;
  if (words >= 32) {
    std::int64_t ones[4][8] = {};
    for (; w + 32 <= words; w += 32) {
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
          ones[i][j] += __builtin_popcountll(a[w + 8 * i + j] ^ b[w + 8 * i + j]);
        }
      }
    }
    for (const auto& vector : ones) {
      for (const std::int64_t n : vector) sum += n;
    }
  }
  for (; w < words; ++w) sum += __builtin_popcountll(a[w] ^ b[w]);
  return sum;
}

#endif

}  // namespace

const BitCounter& BestBitCounter() {
  static const BitCounter portable{"portable", &Portable};
#if defined(RETABLE_X86)
  static const BitCounter popcnt{"popcnt", &Popcnt};
  static const BitCounter wide{"AVX-512 VPOPCNTDQ", &Wide};
  if (HasAvx512Popcnt()) return wide;
  if (__builtin_cpu_supports("popcnt")) return popcnt;
#endif
  return portable;
}

}  // namespace retable
