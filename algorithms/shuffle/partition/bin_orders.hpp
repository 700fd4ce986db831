#pragma once
//! @file
//! The orders of small bins of the partition shuffle, read from a table in place of made by swaps.
//!
//! The swap targets of a bin of `size` slots are the digits of x = floor(word size! / 2^32)
//! (partition/partition.hpp), so x names the order: one multiplication and one read in place of a
//! chain of size - 1 dependent swaps. There are 874 orders of up to six slots (3.4 kB) and 46,234
//! of up to eight (185 kB, of which the last 161 kB are seldom read).

#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::shuffle {

//! Orders of all sizes up to kTabled <= 8.
constexpr std::uint32_t OrdersUpTo(std::uint32_t tabled) {
  std::uint32_t orders = 1, of_size = 1;
  for (std::uint32_t size = 1; size <= tabled; ++size) orders += of_size *= size;
  return orders;
}

//! Order x of a size: slot r goes to place nibble r. `scale[size]` is size! under the entry where
//! its orders begin; sizes from kTabled + 1 to 12 are as kTabled.
template <std::uint32_t kTabled>
struct BinOrders {
  std::uint32_t scale[16] = {};
  std::uint32_t places[OrdersUpTo(kTabled)] = {};
};

template <std::uint32_t kTabled>
constexpr BinOrders<kTabled> MakeBinOrders() {
  BinOrders<kTabled> made;
  std::uint32_t count = 1, first = 0;
  for (std::uint32_t size = 0; size <= kTabled; ++size) {
    if (size > 1) count *= size;
    made.scale[size] = count | (first << 16);
    for (std::uint32_t x = 0; x < count; ++x) {
      std::uint32_t target[kTabled] = {}, left = x, places = 0;
      for (std::uint32_t k = size; k-- > 1; left /= k + 1) target[k] = left % (k + 1);
      for (std::uint32_t k = 1; k < size; ++k) {
        const std::uint32_t there = (places >> (4 * target[k])) & 15u;
        places = (places ^ ((there ^ k) << (4 * target[k]))) | (there << (4 * k));
      }
      made.places[first + x] = places;
    }
    first += count;
  }
  for (std::uint32_t size = kTabled; size <= kSmallBin; ++size) {
    made.scale[size] = made.scale[kTabled];
  }
  return made;
}

//! The order of a bin of up to kMost slots as SmallOrders makes it, kMost 8 or 12: the place of
//! slot r is nibble r % 8 of order[r / 8]. Leaves the rest in `word`. `scale` and `places` are
//! those of BinOrders<kTabled>; the swaps of further slots are made.
template <std::uint32_t kMost, std::uint32_t kTabled>
RETABLE_HD void ReadOrder(const std::uint32_t* scale, const std::uint32_t* places,
                          std::uint32_t size, std::uint32_t& word,
                          std::uint32_t (&order)[(kMost + 7) / 8]) {
  const std::uint32_t entry = scale[size];
  const std::uint64_t product = static_cast<std::uint64_t>(word) * (entry & 0xFFFFu);
  order[0] = places[(entry >> 16) + static_cast<std::uint32_t>(product >> 32)];
  if constexpr (kMost > 8) order[1] = 0;
  word = static_cast<std::uint32_t>(product);
  RETABLE_UNROLL
  for (std::uint32_t k = kTabled; k < kMost; ++k) {
    std::uint32_t left = word;
    const std::uint32_t target = TakeSwap(left, k), at = 4 * (target & 7u);
    // Nibble `target` becomes k, which it is already where they are the same, and nibble k what
    // that was.
    const bool high = kMost > 8 && target > 7;
    const std::uint32_t from = kMost > 8 && high ? order[kMost > 8 ? 1 : 0] : order[0];
    const std::uint32_t there = (from >> at) & 15u, change = (there ^ k) << at;
    const bool swap = k < size;
    word = swap ? left : word;
    if (!swap) continue;
    if (kMost > 8 && high) {
      order[kMost > 8 ? 1 : 0] ^= change;
    } else {
      order[0] ^= change;
    }
    order[k / 8] |= there << (4 * (k & 7u));
  }
}

}  // namespace retable::shuffle
