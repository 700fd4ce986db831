#pragma once
//! @file
//! Sums of ranges of trees: each range has a column of doubles, one for each row, for every
//! feature. Only the columns of features that its trees split are cleared and added, in a fixed
//! order.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/treeshap/device.cuh"

namespace retable::treeshap {

//! What a range adds to.
struct RangeSums {
  std::int32_t group = 0;
  std::vector<std::int32_t> features;  //!< rising

  //! Adds those of a segment, rising too.
  void Merge(const std::vector<std::int32_t>& more) {
    std::vector<std::int32_t> all;
    std::set_union(features.begin(), features.end(), more.begin(), more.end(),
                   std::back_inserter(all));
    features = std::move(all);
  }
};

class PartialSums {
 public:
  //! Uploads the lists of columns. O(ranges x their features)
  void Plan(std::span<const RangeSums> ranges, std::uint32_t features, std::uint32_t groups);

  std::uint32_t ranges() const { return ranges_; }
  //! Doubles that the sums of all ranges take, for so many padded rows.
  std::size_t size(std::uint32_t stride) const { return std::size_t{ranges_} * features_ * stride; }

  //! `partial`: ranges x features x stride; stride is a multiple of 256.
  void Clear(double* partial, std::uint32_t stride, cudaStream_t stream) const;

  //! out[row][group][feature] += the sum of the group's ranges, in their order; the row is
  //! row_order's where that is not null. `out`: rows x groups x (features + 1)
  void Add(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
           std::uint32_t rows, double* out, cudaStream_t stream) const;

 private:
  std::uint32_t features_ = 0, groups_ = 0, ranges_ = 0, count_ = 0;
  DeviceArray<std::uint32_t> columns_;  // range x features + feature, by group and feature
  DeviceArray<std::uint32_t> begin_;    // groups x features + 1
};

}  // namespace retable::treeshap
