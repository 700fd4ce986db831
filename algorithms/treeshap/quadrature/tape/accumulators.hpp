#pragma once
//! @file
//! Which float sums are in fast memory, and when.
//!
//! A model of many features splits some now, others then: there are fewer slots for sums than
//! features, and a feature has one only for a while. When a feature needs a slot and none is left,
//! those whose features come again last give up theirs (Belady 1966: the tape is known as a whole,
//! so this is the least there can be). What a slot held is written to a column of its own, once:
//! nothing is read, cleared or added to in slow memory until all columns of a feature are added up,
//! in double. A sum that has grown long is written out, too, so that errors of float stay small.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! Instructions of a tape, not yet cut into chunks.
struct Instructions {
  std::vector<Float4> words;
  std::vector<std::size_t> starts;  //!< where each begins
  std::vector<std::size_t> sums;    //!< rising: words, counted singly, that name a sum to add to

  void Append(const Instructions& more);
};

//! Instructions whose names have slots, among them those that write sums out.
struct SlottedInstructions {
  Instructions instructions;
  std::vector<std::int32_t> columns;  //!< features of the sums written, in their order
  std::uint32_t slot_count = 0;       //!< in use
};

//! Gives the sums of a run of instructions slots, all empty before and after it. Names are features
//! with flags. An instruction has all its sums at once, so there are more than `max_slots` where
//! one needs them. O(instructions x slots)
SlottedInstructions AllocateSlots(const Instructions& run, std::uint32_t max_slots);

}  // namespace retable::treeshap
