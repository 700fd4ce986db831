#pragma once
//! @file
//! In-memory buckets of the partition shuffle on the CPU: the third level of
//! partition/partition.hpp and its bins, and the split into in-memory buckets before it.
//!
//! Counting gives each slot its rank in its bin, and each bin its place. Orders of bins of up to
//! eight slots are read from a table; random words are drawn only for bins that hold two or more.
//! So a slot's digit and rank tell its place, and items are read in line and written at random in
//! the second-level cache. Work O(m). Memory: six bytes an item that a thread keeps, and the table.

#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

//! Shuffles the m items of number `bucket` from `in` to `out`, which are one or do not overlap.
//! Item: std::uint32_t, std::uint64_t or Item16.
template <class Item>
void ShuffleInMemory(const Philox4x32& random, std::uint64_t bucket, const Item* in, Item* out,
                     std::uint32_t m);

//! Splits m < 2^31 items stably by the digits of a sub-stream into buckets first, first + 1, ...
//! and shuffles each, on all threads if `parallel`. One pass into padded buckets in place of a
//! count and a pass. `in` and `out` are one or do not overlap. Memory: about 1.2 m items that the
//! thread keeps. @throws std::runtime_error when a bucket is over MostItems.
template <class Item>
void SplitAndShuffle(const Philox4x32& random, std::uint64_t stream, std::uint32_t buckets,
                     std::uint64_t first, const Item* in, Item* out, std::uint32_t m,
                     bool parallel);

}  // namespace retable::shuffle
