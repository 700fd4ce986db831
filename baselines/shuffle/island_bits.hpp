#pragma once
//! @file
//! How many key bits "sort + islands" needs for n items.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace retable::shuffle {

//! ceil(log2(n - (6 n^2 + 1) / (12 ln 0.9))): with so many bits no two keys are equal with
//! probability about 0.9, and runs of equal keys are short. At least 1, at most 63.
inline int IslandKeyBits(std::uint64_t n) {
  const double items = static_cast<double>(n);
  const double bits = std::ceil(std::log2(items - (6 * items * items + 1) / (12 * std::log(0.9))));
  return std::clamp(static_cast<int>(bits), 1, 63);
}

}  // namespace retable::shuffle
