#pragma once
//! @file
//! Sorted sets.

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace retable::treeshap {

//! `all` becomes the union of the two. O(sum of their sizes)
template <class T>
void MergeSorted(std::vector<T>& all, const std::vector<T>& more) {
  std::vector<T> both;
  both.reserve(all.size() + more.size());
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both));
  all = std::move(both);
}

}  // namespace retable::treeshap
