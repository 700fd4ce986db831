#pragma once
//! @file
//! The random digits that items are split by: pure functions of (seed, position of the item).

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable::shuffle {

//! The sub-stream of an array's first digits.
inline constexpr std::uint64_t kFirstStream = 1;

//! Philox block that holds the digits of slots with the same (slot >> 8, slot & 31): lane l of a
//! warp draws for slots l, l + 32, ..., l + 224. Half-word (slot >> 5) & 7 makes the digit.
//! Random is Philox4x32 or PhiloxRounds.
template <class Random>
RETABLE_HD PhiloxBlock DigitBlock(const Random& random, std::uint64_t stream, std::uint64_t group,
                                  std::uint32_t lane) {
  return random.Block(group * 32 + lane, stream);
}
//! Half-word j (0..7) of a block.
RETABLE_HD std::uint32_t HalfWord(const PhiloxBlock& block, int j) {
  return (block.word[j >> 1] >> ((j & 1) * 16)) & 0xFFFFu;
}
//! Half-word j of a block as a digit of {0..digits-1}, digits <= 2^16.
RETABLE_HD std::uint32_t Digit(const PhiloxBlock& block, int j, std::uint32_t digits) {
  return (HalfWord(block, j) * digits) >> 16;
}

//! Random bits of an item, the low ones of which are the number of its bucket.
constexpr int BucketBits(std::uint32_t buckets) {
  return buckets <= 256 ? 8 : 16;
}
//! The bucket of item i. Philox draws bytes (or half-words) for 16 (or 8) items at once: one block
//! for items i, i + 32, i + 64 and so on.
RETABLE_HD std::uint32_t BucketOf(const Philox4x32& random, std::uint64_t i,
                                  std::uint32_t buckets) {
  const int bits = BucketBits(buckets);
  const auto drawn = static_cast<std::uint32_t>(128 / bits);
  const PhiloxBlock block = random.Block(i / (32 * drawn) * 32 + i % 32, kFirstStream);
  const int bit = static_cast<int>(i / 32 % drawn) * bits;
  return (block.word[bit / 32] >> (bit % 32)) & (buckets - 1);
}

}  // namespace retable::shuffle
