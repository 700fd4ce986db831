#pragma once
//! @file
//! Sorted sets of features.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace retable::treeshap {

//! `all` becomes the union of the two. O(sum of their sizes)
inline void MergeSorted(std::vector<std::int32_t>& all, const std::vector<std::int32_t>& more) {
  std::vector<std::int32_t> both;
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both));
  all = std::move(both);
}

}  // namespace retable::treeshap
