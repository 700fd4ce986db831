#pragma once
//! @file
//! Which float sums are in fast memory, and when.
//!
//! A model of many features splits some now, others then: there are fewer places for sums than
//! features, and a feature has one only for a while. When a feature needs a place and none is left,
//! those whose features come again last give up theirs (Belady 1966: the tape is known as a whole,
//! so this is the least there can be). What a place held is written to a column of its own, once:
//! nothing is read, cleared or added to in slow memory until all columns of a feature are added up,
//! in double. A sum that has grown long is written out, too, so that errors of float stay small.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

//! Instructions of a tape, not yet cut into chunks.
struct Instructions {
  std::vector<Float4> words;
  std::vector<std::size_t> starts;  //!< where each begins
  std::vector<std::size_t> sums;    //!< rising: words, counted singly, that name a sum to add to

  void Append(const Instructions& more);
};

//! Instructions whose names have places, among them those that write sums out.
struct SlottedInstructions {
  Instructions operations;
  std::vector<std::int32_t> columns;  //!< features of the sums written, in their order
  std::uint32_t places = 0;           //!< in use
};

//! Gives the sums of a run of operations places, all empty before and after it. Names are features
//! with flags. An operation has all its sums at once, so there are more than `max_slots` where
//! one needs them. O(operations x places)
SlottedInstructions AllocateSlots(const Instructions& run, std::uint32_t max_slots);

//! Adds to one float sum until it is written out.
inline constexpr std::uint32_t kMaxAdds = 64;
//! Places given up at once: an operation of the tape for each would take longer than the sums.
inline constexpr std::size_t kSpilledAtOnce = 4;

}  // namespace retable::treeshap
