#pragma once
//! @file
//! The order of one bin of an in-memory bucket as the GPU makes it: its slots sorted, then sent to
//! the places that the bin's word names. Host-device, so that tests need no GPU.
//!
//! The slots of a bin come in any order. Two bins are sorted at once, in the halves of a word, by a
//! network of 19 comparisons. The word's swaps (partition/partition.hpp) of the first six slots are
//! read from a table of all 874 orders of up to six, 3.4 kB; the swaps of further ones are made.

#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

//! Orders of all sizes up to kReadBin.
inline constexpr std::uint32_t kReadOrders = 1 + 1 + 2 + 6 + 24 + 120 + 720;

//! Order x of a size: slot r goes to place nibble r. `scale[size]` is size! under the entry where
//! its orders begin; seven to twelve are as six.
struct ReadOrders {
  std::uint32_t scale[16] = {};
  std::uint32_t places[kReadOrders] = {};
};

constexpr ReadOrders MakeReadOrders() {
  ReadOrders made;
  std::uint32_t count = 1, first = 0;
  for (std::uint32_t size = 0; size <= kReadBin; ++size) {
    if (size > 1) count *= size;
    made.scale[size] = count | (first << 16);
    for (std::uint32_t x = 0; x < count; ++x) {
      std::uint32_t target[kReadBin] = {}, left = x, places = 0;
      for (std::uint32_t k = size; k-- > 1; left /= k + 1) target[k] = left % (k + 1);
      for (std::uint32_t k = 1; k < size; ++k) {
        const std::uint32_t there = (places >> (4 * target[k])) & 15u;
        places = (places ^ ((there ^ k) << (4 * target[k]))) | (there << (4 * k));
      }
      made.places[first + x] = places;
    }
    first += count;
  }
  for (std::uint32_t size = kReadBin; size <= kSmallBin; ++size) {
    made.scale[size] = made.scale[kReadBin];
  }
  return made;
}

//! The order of a bin of up to kMost slots as SmallOrders makes it, kMost 8 or 12: the place of
//! slot r is nibble r % 8 of order[r / 8]. Leaves the rest in `word`.
template <std::uint32_t kMost>
RETABLE_HD void ReadOrder(const std::uint32_t* scale, const std::uint32_t* places,
                          std::uint32_t size, std::uint32_t& word,
                          std::uint32_t (&order)[(kMost + 7) / 8]) {
  const std::uint32_t entry = scale[size];
  const std::uint64_t product = static_cast<std::uint64_t>(word) * (entry & 0xFFFFu);
  order[0] = places[(entry >> 16) + static_cast<std::uint32_t>(product >> 32)];
  if constexpr (kMost > 8) order[1] = 0;
  word = static_cast<std::uint32_t>(product);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (std::uint32_t k = kReadBin; k < kMost; ++k) {
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

//! Exchanges a and b so that each half of a is at most that of b.
RETABLE_HD void OrderHalves(std::uint32_t& a, std::uint32_t& b) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t least = __vminu2(a, b);
  b = __vmaxu2(a, b);
  a = least;
#else
  const std::uint32_t low_a = a & 0xFFFFu, low_b = b & 0xFFFFu, high_a = a >> 16, high_b = b >> 16;
  a = (low_a < low_b ? low_a : low_b) | ((high_a < high_b ? high_a : high_b) << 16);
  b = (low_a < low_b ? low_b : low_a) | ((high_a < high_b ? high_b : high_a) << 16);
#endif
}

//! Sorts the low halves and the high halves of eight words. 19 comparisons, the fewest there are.
RETABLE_HD void SortEight(std::uint32_t (&v)[8]) {
  constexpr unsigned char kPairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                           {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                           {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int c = 0; c < 19; ++c) OrderHalves(v[kPairs[c][0]], v[kPairs[c][1]]);
}

//! Sorts twelve words. 39 comparisons.
RETABLE_HD void SortTwelve(std::uint32_t (&v)[12]) {
  constexpr unsigned char kPairs[39][2] = {
      {0, 8},  {1, 7},   {2, 6}, {3, 11}, {4, 10}, {5, 9},  {0, 1}, {2, 5}, {3, 4}, {6, 9},
      {7, 8},  {10, 11}, {0, 2}, {1, 6},  {5, 10}, {9, 11}, {0, 3}, {1, 2}, {4, 6}, {5, 7},
      {8, 11}, {9, 10},  {1, 4}, {3, 5},  {6, 8},  {7, 10}, {1, 3}, {2, 5}, {6, 9}, {8, 10},
      {2, 3},  {4, 5},   {6, 7}, {8, 9},  {4, 6},  {5, 7},  {3, 4}, {5, 6}, {7, 8}};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int c = 0; c < 39; ++c) {
    std::uint32_t &a = v[kPairs[c][0]], &b = v[kPairs[c][1]];
    const std::uint32_t least = a < b ? a : b;
    b = a < b ? b : a;
    a = least;
  }
}

}  // namespace retable::shuffle
