#include "algorithms/shuffle/partition_random.hpp"

#include "algorithms/shuffle/philox_bulk.hpp"

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
  std::uint32_t words[128];
  FillBlocks32(random, group * 32, stream, words);
  ScaleHalves(words, digits, digit);
}

void FillSwapWords(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                   std::uint32_t words[128]) {
  std::uint32_t blocks[128];
  FillBlocks32(random, SwapIndex(group * 32), LeafStream(leaf), blocks);
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t w = 0; w < 4; ++w) words[4 * l + w] = blocks[32 * w + l];
  }
}

// The steps of SmallOrders for k < 8, over 128 bins.
RETABLE_CLONES void FillSmallOrders(const std::uint32_t* words, const std::uint32_t* start,
                                    std::uint32_t* left, std::uint32_t* orders) {
  std::uint32_t size[128];
  for (int b = 0; b < 128; ++b) {
    size[b] = start[b + 1] - start[b];
    left[b] = words[b];
    orders[b] = 0;
  }
  for (std::uint32_t k = 1; k < 8; ++k) {
    for (int b = 0; b < 128; ++b) {
      const std::uint64_t product = static_cast<std::uint64_t>(left[b]) * (k + 1);
      const std::uint32_t at = 4 * static_cast<std::uint32_t>(product >> 32);
      const std::uint32_t there = (orders[b] >> at) & 15u;
      const std::uint32_t swapped = (orders[b] ^ ((there ^ k) << at)) | (there << (4 * k));
      // A place past the bin keeps its own number.
      orders[b] = k < size[b] ? swapped : orders[b] | (k << (4 * k));
      left[b] = k < size[b] ? static_cast<std::uint32_t>(product) : left[b];
    }
  }
}

}  // namespace retable::shuffle
