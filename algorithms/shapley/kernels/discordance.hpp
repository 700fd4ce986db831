#pragma once
//! @file
//! Kendall's distance by bits: the number of pairs of players whom two orders put differently.
//!
//! An order is coded as one bit for each pair i < j ("i joins before j"), D = d (d - 1) / 2 bits in
//! words of 64. The distance is the number of ones of the exclusive or: D / 64 words instead of D
//! comparisons, and an exact integer. Counting is by the widest instruction there is (AVX-512's
//! vpopcntq, popcnt, or arithmetic), all with the same answer. Coding an order takes
//! O(d^2 / 64 + d) word operations. Kendall 1938; the counts n_dis of Mitchell et al. 2022,
//! section 3.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cuda/host_device.hpp"

namespace retable::shapley {

//! Pairs of d players.
RETABLE_HD std::int64_t PairCount(int d) {
  return static_cast<std::int64_t>(d) * (d - 1) / 2;
}

//! The bit of the pair i < j among d players.
RETABLE_HD std::int64_t PairIndex(int i, int j, int d) {
  return static_cast<std::int64_t>(i) * d - static_cast<std::int64_t>(i) * (i + 1) / 2 +
         (j - i - 1);
}

//! The smaller player i of the pair at bit `index`, 0 <= index < PairCount(d): the last i whose row
//! starts at or before it. O(log d).
RETABLE_HD int FirstOfPair(std::int64_t index, int d) {
  int low = 0, high = d - 2;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (PairIndex(middle, middle + 1, d) <= index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

//! Words of a coded order.
RETABLE_HD std::size_t PairWords(int d) {
  return static_cast<std::size_t>((PairCount(d) + 63) / 64);
}

//! Codes an order into PairWords(d) words; unused high bits are zero.
void EncodePairs(std::span<const std::int32_t> order, std::span<std::uint64_t> words);

//! Ones of a xor b over `words` words.
std::int64_t Discordant(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);

}  // namespace retable::shapley
