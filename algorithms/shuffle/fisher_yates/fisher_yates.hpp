#pragma once
//! @file
//! Fisher and Yates' shuffle with its targets drawn ahead: the fastest shuffle of one core.
//!
//! Problem: in the cache std::shuffle takes twice the time of its swaps, and past the cache each
//! swap waits for memory. Approach: targets are drawn 128 at a time (random_indices.hpp) and, where
//! items lie outside the first-level cache, asked for before they are swapped. Arrays past the
//! cache are first split stably by random digits into buckets that fit, on all threads (Rao 1961,
//! Sandelius 1962): exactly uniform given ideal bits, whatever the number of threads. Time O(n).
//! Memory: a counter a bucket and 2^18 items.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "algorithms/shuffle/fisher_yates/random_indices.hpp"

namespace retable::shuffle {

//! Shuffles n < 2^32 items in place: item i swaps with a uniform one of the i + 1 up to it, i = n -
//! 1, n - 2, ..., 1.
template <class Item>
void FisherYatesInBlocks(Item* items, std::uint32_t n, RandomIndices& random) {
  constexpr std::size_t kNear = 1 << 18;  // bytes that need no request ahead
  std::uint32_t target[RandomIndices::kCount];
  while (n > 1) {
    random.Draw(n, target);
    const std::uint32_t many = std::min(n - 1, RandomIndices::kCount);
    if (n * sizeof(Item) > kNear) {
      for (std::uint32_t k = 0; k < many; ++k) __builtin_prefetch(items + target[k], 1);
    }
    for (std::uint32_t k = 0; k < many; ++k) std::swap(items[n - 1 - k], items[target[k]]);
    n -= many;
  }
}

}  // namespace retable::shuffle
