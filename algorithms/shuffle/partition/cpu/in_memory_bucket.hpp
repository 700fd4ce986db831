#pragma once
//! @file
//! Leaves of the partition shuffle on the CPU: the third level of partition/partition.hpp and its
//! bins, and the split into leaves before it.
//!
//! What is made is not the items' order but that of their 16-bit slots, which stays in the
//! first-level cache; the items are then read at random and written in line. Three ways to it, by
//! how full the leaf is:
//!   sparse     up to 1280 items in 1792 bins: slots are counted by bin and go straight to their
//!              places; random words are drawn only for the few bins that hold two or more.
//!   dense      up to a full leaf: a slot goes to the next place of its bin's room, so that nothing
//!              is counted first; a bin of up to eight is then put in order by one look into a
//!              table and one vector permutation, written as eight whatever its size.
//!   any        the definition, a bin at a time: leaves over capacity, or a bin of more than 16.
//! Work O(m). Memory: 59 kB of rooms a thread keeps.

#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"

namespace retable::shuffle {

//! Shuffles the m items of leaf number `leaf` from `in` to `out`, which are one or do not overlap.
//! Item: std::uint32_t, std::uint64_t or Item16.
template <class Item>
void ShuffleLeaf(const Philox4x32& random, std::uint64_t leaf, const Item* in, Item* out,
                 std::uint32_t m);

//! Room for a leaf's items: for more than a leaf will ever hold, and no multiple of a page, so that
//! leaves that fill alike do not meet in the same sets of the cache.
inline constexpr std::uint32_t kLeafRoom = kLeafCapacity + 312;

//! Splits m < 2^31 items stably by the digits of a sub-stream into leaves first, first + 1, ... and
//! shuffles each, on all threads if `parallel`. One pass into rooms in place of a count and a pass;
//! should a room be too small, the items are counted after all (`room` is for tests of that). `in`
//! and `out` are one or do not overlap. Memory: about 1.13 m items the thread keeps.
template <class Item>
void ShuffleLeaves(const Philox4x32& random, std::uint64_t stream, std::uint32_t leaves,
                   std::uint64_t first, const Item* in, Item* out, std::uint32_t m, bool parallel,
                   std::uint32_t room = kLeafRoom);

}  // namespace retable::shuffle
