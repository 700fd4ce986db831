#pragma once
//! @file
//! The partition shuffle: streaming passes in place of random reads, exactly uniform, one order on
//! every machine.
//!
//! Problem: a random gather of 8-byte items fetches a whole memory sector for each; past the cache
//! that, not the useful bytes, is the cost. Approach (Rao 1961, Sandelius 1962; for external memory
//! Sanders 1998): give each item an independent random digit and partition stably by it; then each
//! bucket is small enough for fast memory, where it is ordered by random keys. Given independent
//! uniform bits every permutation is equally likely, whatever the sizes of the buckets turn out to
//! be: sorting by independent keys with random ties is uniform, and digits are the leading part of
//! such keys.
//!
//! Digits and keys are counter-based: digit(i) is a pure function of (seed, i). So the counting
//! pass reads no data, the counts need no look-back between blocks, and any grid of threads, on a
//! CPU or a GPU, finds the same order. Levels:
//!   1. digit1(i) of 0 to 9 bits splits the input into buckets, stably.
//!   2. digit2(bucket, slot) of 0 to 9 bits splits a bucket into leaves of about kLeafMean items,
//!   stably.
//!   3. A leaf is ordered by (key(leaf, slot), further words, ...), 32 bits first.
//! Bytes: a read and a write an item for each level used and one for the leaves. Work O(n).
//! Memory: n items when there are two levels (none with one: the leaves are ordered in place), and
//! the counts.
//!
//! Stable means in tile order: within each 8192 slots, groups of 128 columns come one after the
//! other, and in a group rows (of 1024 slots) one after the other. That is a fixed relabelling of
//! the slots, so it changes nothing about uniformity; it lets a GPU sort a tile with few barriers.
//!
//! The layout of the random words puts one 32-lane row in 32 blocks of Philox, so that lane l of a
//! warp computes the digits of slots l, l + 32, ...: coalesced and without exchange.

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable::shuffle {

//! Expected leaf sizes are in (kLeafMean / 2, kLeafMean] once there are several; 2^13 + 1 is one
//! leaf.
inline constexpr std::uint64_t kLeafMean = 8200;
//! The largest leaf that is ordered in fast memory: eight standard deviations over the mean.
inline constexpr std::uint32_t kLeafCapacity = 8960;
//! The largest n: 9 bits of digit 1 and 9 of digit 2.
inline constexpr std::uint64_t kMaxPartition = kLeafMean << 18;
//! One level does up to this many bits; more are shared between two levels.
inline constexpr int kMaxFirstBits = 9;

//! How n items are split. Depends on n alone.
struct PartitionPlan {
  std::uint64_t n = 0;
  int first_bits = 0;
  int second_bits = 0;

  RETABLE_HD std::uint32_t buckets() const { return 1u << first_bits; }
  RETABLE_HD std::uint32_t leaves_per_bucket() const { return 1u << second_bits; }
  RETABLE_HD std::uint32_t leaves() const { return 1u << (first_bits + second_bits); }
};

//! @throws std::invalid_argument for n > kMaxPartition.
PartitionPlan MakePartitionPlan(std::uint64_t n);

//! The sub-stream of the first digits, and of the second digits of a bucket.
inline constexpr std::uint64_t kFirstStream = 1;
RETABLE_HD std::uint64_t SecondStream(std::uint64_t bucket) {
  return 2 + (bucket << 2);
}

//! Philox block that holds the digits of slots with the same (slot >> 13, slot & 1023); half-word
//! (slot >> 10) & 7 is the digit.
RETABLE_HD PhiloxBlock DigitBlock(const Philox4x32& random, std::uint64_t stream,
                                  std::uint64_t group, std::uint32_t column) {
  return random.Block(group * 1024 + column, stream);
}
//! Half-word j (0..7) of a block of digits, reduced to its top `bits`.
RETABLE_HD std::uint32_t Digit(const PhiloxBlock& block, int j, int bits) {
  const std::uint32_t half = (block.word[j >> 1] >> ((j & 1) * 16)) & 0xFFFFu;
  return half >> (16 - bits);
}

//! The slot at place k of the tile order: bits 7..9 and 10..12 change places. Its own inverse.
RETABLE_HD std::uint64_t TileOrder(std::uint64_t k) {
  return (k & ~std::uint64_t{0x1F80}) | ((k & 0x380) << 3) | ((k & 0x1C00) >> 3);
}

//! Philox block that holds the leaf keys of slots with the same (slot >> 7, slot & 31); word
//! (slot >> 5) & 3 is the key.
RETABLE_HD PhiloxBlock LeafKeyBlock(const Philox4x32& random, std::uint64_t leaf,
                                    std::uint32_t group, std::uint32_t lane) {
  return random.Block(static_cast<std::uint64_t>(group) * 32 + lane, 3 + (leaf << 2));
}
RETABLE_HD std::uint32_t LeafKey(const Philox4x32& random, std::uint64_t leaf, std::uint32_t slot) {
  return LeafKeyBlock(random, leaf, slot >> 7, slot & 31).word[(slot >> 5) & 3];
}

//! Whether slot a of a leaf comes before slot b when their 32-bit keys are equal: further words
//! decide, and after 256 equal bits (never) the slot.
RETABLE_HD bool LeafTieBefore(const Philox4x32& random, std::uint64_t leaf, std::uint32_t a,
                              std::uint32_t b) {
  for (std::uint64_t k = 1; k <= 4; ++k) {
    const std::uint64_t word_a = random.Block(a | (k << 32), 3 + (leaf << 2)).half(0);
    const std::uint64_t word_b = random.Block(b | (k << 32), 3 + (leaf << 2)).half(0);
    if (word_a != word_b) return word_a < word_b;
  }
  return a < b;
}

}  // namespace retable::shuffle
