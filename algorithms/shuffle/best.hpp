#pragma once
//! @file
//! Which method "Shuffle" takes: the partition shuffle where a gather leaves the GPU's cache; the
//! rectangle cipher within it, and for large items, of which a gather reads whole sectors. The same
//! on every device, so that one seed gives one order everywhere.

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! Measured on an H200: the partition shuffle passes the gather at 2^24 items of 8 bytes.
inline bool TakesPartition(std::uint64_t n, std::size_t item_bytes) {
  return item_bytes <= 8 && n >= (std::uint64_t{1} << 24) && n <= kMaxPartition;
}

}  // namespace retable::shuffle
