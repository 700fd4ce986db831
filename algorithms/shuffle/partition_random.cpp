#include "algorithms/shuffle/partition_random.hpp"

namespace retable::shuffle {
namespace {

// One function per instruction set, chosen at start. Sanitizers run before the choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(RETABLE_SANITIZED)
#define RETABLE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETABLE_CLONES
#endif

// 32 Philox blocks whose counters differ by one, as four rows of 32 words.
RETABLE_CLONES void Blocks32(std::uint32_t key0, std::uint32_t key1, std::uint64_t first,
                             std::uint64_t stream, std::uint32_t* words) {
  std::uint32_t c0[32], c1[32], c2[32], c3[32];
  for (int l = 0; l < 32; ++l) {
    c0[l] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(l);
    c1[l] = static_cast<std::uint32_t>(first >> 32);
    c2[l] = static_cast<std::uint32_t>(stream);
    c3[l] = static_cast<std::uint32_t>(stream >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < 32; ++l) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c0[l];
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2[l];
      c0[l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[l] ^ key0;
      c2[l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[l] ^ key1;
      c1[l] = static_cast<std::uint32_t>(p1);
      c3[l] = static_cast<std::uint32_t>(p0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int l = 0; l < 32; ++l) {
    words[l] = c0[l];
    words[32 + l] = c1[l];
    words[64 + l] = c2[l];
    words[96 + l] = c3[l];
  }
}

}  // namespace

// The first counter of each 32 blocks is a multiple of 32, so the low word never wraps within them.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group, int bits,
                std::uint16_t digits[8192]) {
  std::uint32_t words[128];
  for (std::uint32_t column = 0; column < 1024; column += 32) {
    Blocks32(random.key[0], random.key[1], group * 1024 + column, stream, words);
    for (int row = 0; row < 8; ++row) {
      for (int l = 0; l < 32; ++l) {
        const std::uint32_t half = (words[(row >> 1) * 32 + l] >> ((row & 1) * 16)) & 0xFFFFu;
        digits[static_cast<std::uint32_t>(row) * 1024 + column + static_cast<std::uint32_t>(l)] =
            static_cast<std::uint16_t>(half >> (16 - bits));
      }
    }
  }
}

void FillLeafKeys(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                  std::uint32_t keys[128]) {
  Blocks32(random.key[0], random.key[1], std::uint64_t{group} * 32, 3 + (leaf << 2), keys);
}

}  // namespace retable::shuffle
