#pragma once
//! @file
//! Allocation of accumulator slots: which float sums are in fast memory, and when.
//!
//! A model of many features has fewer accumulator slots than features. When a feature needs a slot
//! and none is free, the features whose next use is last are spilled (Belady 1966: the whole tape
//! is known, so the number of spills is minimal). A spilled sum is written to a column of its own,
//! once: slow memory is neither read nor cleared until all columns of a feature are added, in
//! double. A sum of kMaxAdds additions is spilled, too, so that float errors stay small.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! Instructions of a tape, not yet cut into chunks.
struct Instructions {
  std::vector<Float4> words;
  std::vector<std::size_t> starts;  //!< first word of each instruction
  std::vector<std::size_t> sums;    //!< ascending: words, counted singly, that name a sum to add to

  void Append(const Instructions& more);
};

//! Instructions whose names have slots, among them those that write sums out.
struct SlottedInstructions {
  Instructions instructions;
  std::vector<std::int32_t> columns;  //!< features of the sums written, in their order
  std::uint32_t slot_count = 0;       //!< slots in use
};

//! Gives the sums of a run of instructions slots, all empty before and after it. Names are features
//! with flags. An instruction has all its sums at once, so there are more than `max_slots` where
//! one needs them. O(instructions x slots)
SlottedInstructions AllocateSlots(const Instructions& run, std::uint32_t max_slots);

}  // namespace retable::treeshap
