#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"

#include "algorithms/common/bulk_random.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {

namespace {

RETABLE_CLONES void ScaleHalves(const std::uint32_t* words, std::uint32_t digits,
                                std::uint16_t* digit) {
  for (int w = 0; w < 4; ++w) {
    for (int l = 0; l < 32; ++l) {
      const std::uint32_t word = words[w * 32 + l];
      digit[w * 64 + l] = static_cast<std::uint16_t>(((word & 0xFFFFu) * digits) >> 16);
      digit[w * 64 + 32 + l] = static_cast<std::uint16_t>(((word >> 16) * digits) >> 16);
    }
  }
}

}  // namespace

// The first counter of each 32 blocks is a multiple of 32, so the low word never wraps within them.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group,
                std::uint32_t digits, std::uint16_t digit[256]) {
  alignas(64) std::uint32_t words[128];
  FillBlocks<32>(random, group * 32, stream, words);
  ScaleHalves(words, digits, digit);
}

void FillSwapBlocks(const Philox4x32& random, std::uint64_t bucket, const std::uint32_t block[32],
                    std::uint32_t words[128]) {
  FillBlocksOf<32>(random, block, static_cast<std::uint32_t>(SwapIndex(0) >> 32),
                   InMemoryStream(bucket), words);
}

}  // namespace retable::shuffle
