#include "harness/bit_kernels.hpp"

#include <bit>

namespace retable::harness {
namespace {

std::int64_t Portable(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  std::int64_t ones = 0;
  for (std::size_t w = 0; w < words; ++w) ones += std::popcount(a[w] ^ b[w]);
  return ones;
}

#if defined(__x86_64__)

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

#if defined(__clang__)  // which says it otherwise
#define RETABLE_POPCNT_512 __attribute__((target("avx512f,avx512vpopcntdq"), min_vector_width(512)))
#else
#define RETABLE_POPCNT_512 \
  __attribute__((target("avx512f,avx512vpopcntdq,prefer-vector-width=512")))
#endif

RETABLE_POPCNT_512 std::int64_t Wide(const std::uint64_t* a, const std::uint64_t* b,
                                     std::size_t words) {
  std::int64_t ones[4][8] = {};
  std::size_t w = 0;
  for (; w + 32 <= words; w += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        ones[i][j] += __builtin_popcountll(a[w + 8 * i + j] ^ b[w + 8 * i + j]);
      }
    }
  }
  std::int64_t sum = Portable(a + w, b + w, words - w);
  for (const auto& part : ones) {
    for (const std::int64_t n : part) sum += n;
  }
  return sum;
}

#endif

}  // namespace

const BitKernel& BestBitKernel() {
  static const BitKernel portable{"portable", &Portable};
#if defined(__x86_64__)
  static const BitKernel popcnt{"popcnt", &Popcnt};
  static const BitKernel wide{"AVX-512 VPOPCNTDQ", &Wide};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq")) return wide;
  if (__builtin_cpu_supports("popcnt")) return popcnt;
#endif
  return portable;
}

}  // namespace retable::harness
