#pragma once
//! @file
//! Which method "Shuffle" takes: the generalised Feistel cipher where a gather stays in the GPU's
//! cache, past it SplitRectangle, whose gathers do, and past 2^31 items Partition, which takes so
//! many. The same on every device, so that one seed gives one order everywhere. Who needs orders
//! that are exactly uniform, given ideal bits, takes "Partition".

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/split_rectangle/buckets.hpp"

namespace retable::shuffle {

//! The method of n items: by bytes, whatever the size of an item, up to 2^31.
inline const char* MethodOf(std::uint64_t n, std::size_t item_bytes) {
  if (n > kMaxSplit) return "Partition";
  return n * item_bytes >= kSplitBytes ? "SplitRectangle" : "Rectangle";
}

}  // namespace retable::shuffle
