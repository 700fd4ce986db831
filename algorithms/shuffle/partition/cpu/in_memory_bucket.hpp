#pragma once
//! @file
//! In-memory buckets of the partition shuffle on the CPU: the third level of
//! partition/partition.hpp and its bins, and the split into in-memory buckets before it.
//!
//! What is made is not the items' order but that of their 16-bit slots, which stays in the
//! first-level cache; the items are then read at random and written in line. Three ways to it, by
//! how full the bucket is:
//!   sparse     up to 1280 items in 1792 bins: slots are counted by bin and go straight to their
//!              places; random words are drawn only for the few bins that hold two or more.
//!   dense      up to a full bucket: a slot goes to the next place of its padded bin, so that
//!              nothing is counted first; a bin of up to eight is then ordered by one table look-up
//!              and one vector permutation, written as eight whatever its size.
//!   any        the definition, a bin at a time: buckets over capacity, or a bin of more than 16.
//! Work O(m). Memory: 59 kB of padded bins that a thread keeps.

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
//! and shuffles each, on all threads if `parallel`. One pass into buckets padded to `capacity` in
//! place of a count and a pass; should one overflow, the items are counted after all (`capacity` is
//! for tests of that). `in` and `out` are one or do not overlap. Memory: about 1.13 m items that
//! the thread keeps.
template <class Item>
void SplitAndShuffle(const Philox4x32& random, std::uint64_t stream, std::uint32_t buckets,
                     std::uint64_t first, const Item* in, Item* out, std::uint32_t m, bool parallel,
                     std::uint32_t capacity = kPaddedBucket);

}  // namespace retable::shuffle
