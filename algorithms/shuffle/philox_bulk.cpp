#include "algorithms/shuffle/philox_bulk.hpp"

namespace retable::shuffle {
namespace {

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

void FillBlocks32(const Philox4x32& random, std::uint64_t first, std::uint64_t stream,
                  std::uint32_t words[128]) {
  Blocks32(random.key[0], random.key[1], first, stream, words);
}

}  // namespace retable::shuffle
