#pragma once
//! @file
//! Which method "Shuffle" takes: the generalised Feistel cipher where a gather stays in the GPU's
//! cache, and past it SplitRectangle, whose gathers do. The same on every device, so that one seed
//! gives one order everywhere. Who needs orders that are exactly uniform, given ideal bits, takes
//! "Partition".

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/split_rectangle/buckets.hpp"

namespace retable::shuffle {

//! Whether "Shuffle" splits: by bytes, whatever the size of an item.
inline bool TakesSplit(std::uint64_t n, std::size_t item_bytes) {
  return n * item_bytes >= kSplitBytes && n <= kMaxSplit;
}

}  // namespace retable::shuffle
