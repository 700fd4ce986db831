#pragma once
//! @file
//! Which method "Shuffle" takes: the rectangle cipher where a gather stays in the GPU's cache, and
//! past it the split rectangle, whose gathers do. The same on every device, so that one seed gives
//! one order everywhere. Who needs orders that are exactly uniform, given ideal bits, takes
//! "Partition".

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/split_rectangle/buckets.hpp"

namespace retable::shuffle {

//! Measured on an H200: from 64 MiB of items on splitting them pays, whatever their size.
inline bool TakesSplit(std::uint64_t n, std::size_t item_bytes) {
  return n * item_bytes >= (std::uint64_t{1} << 26) && n <= kMaxSplit;
}

}  // namespace retable::shuffle
