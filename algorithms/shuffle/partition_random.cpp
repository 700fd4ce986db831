#include "algorithms/shuffle/partition_random.hpp"

#include "algorithms/shuffle/philox_bulk.hpp"

namespace retable::shuffle {

// The first counter of each 32 blocks is a multiple of 32, so the low word never wraps within them.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group, int bits,
                std::uint16_t digits[8192]) {
  std::uint32_t words[128];
  for (std::uint32_t column = 0; column < 1024; column += 32) {
    FillBlocks32(random, group * 1024 + column, stream, words);
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
  FillBlocks32(random, std::uint64_t{group} * 32, 3 + (leaf << 2), keys);
}

}  // namespace retable::shuffle
