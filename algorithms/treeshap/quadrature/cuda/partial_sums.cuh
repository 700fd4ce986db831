#pragma once
//! @file
//! Sums of ranges of trees: each range has a column of doubles, one for each row, for every
//! feature. Only the columns of features that its trees split are cleared and added, in a fixed
//! order. A kernel may clear the columns of its range itself: lists() says which they are. Or a
//! range has a list of columns of floats, each of some feature, which are written once (rows in
//! their order) and added up as doubles.
//!
//! Rows are permuted in a column: rows 2 i and 2 i + 1 of 64 stand 32 apart, so that a warp whose
//! lanes carry two rows each adds to neighbouring positions.

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/sorted_set.hpp"
#include "base/cuda/host_device.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

inline constexpr std::uint32_t kSecondRowOffset = 32;

RETABLE_HD constexpr std::uint32_t PositionOfRow(std::uint32_t row) {
  return (row & ~63u) | (row & 1u) * kSecondRowOffset | (row & 63u) >> 1;
}
RETABLE_HD constexpr std::uint32_t RowAtPosition(std::uint32_t position) {
  return (position & ~63u) | (position & 31u) << 1 | (position >> 5 & 1u);
}

//! What a range adds to.
struct RangeSums {
  std::int32_t group = 0;
  std::vector<std::int32_t> features;  //!< ascending; of float columns, in their order

  //! Adds those of a segment: columns are appended; a sorted set is merged.
  void Merge(const std::vector<std::int32_t>& more, bool columns) {
    if (columns) {
      features.insert(features.end(), more.begin(), more.end());
      return;
    }
    MergeSorted(features, more);
  }
};

class PartialSums {
 public:
  //! Uploads the lists of columns. `columns`: of sums that are written once, as columns of floats,
  //! one behind the other. O(ranges x their features)
  void Plan(std::span<const RangeSums> ranges, std::uint32_t features, std::uint32_t groups,
            bool columns = false);

  std::uint32_t ranges() const { return ranges_; }
  //! Doubles that the sums of all ranges take, for so many padded rows.
  std::size_t size(std::uint32_t stride) const {
    return written_once_ ? std::size_t{count_} * stride / 2
                         : std::size_t{ranges_} * features_ * stride;
  }

  //! `partial`: ranges x features x stride, not of columns; stride is a multiple of 256.
  void Clear(double* partial, std::uint32_t stride, cudaStream_t stream) const;

  //! The features of each range, one after the other, and where they begin: ranges + 1 entries.
  const std::uint32_t* lists() const { return list_.data(); }
  const std::uint32_t* list_begin() const { return list_begin_.data(); }

  //! out[row][group][feature] += the sum of the group's ranges, in their order; the row is
  //! row_order's where that is not null. Fresh: = instead, and 0 where there is no sum. `out`: rows
  //! x groups x (features + 1); in its place, where it is not null, `rounded`: floats, always
  //! fresh.
  void Add(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
           std::uint32_t rows, bool fresh, double* out, float* rounded, cudaStream_t stream) const;

 private:
  template <bool Fresh, class Result>
  void AddTo(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
             std::uint32_t rows, Result* out, cudaStream_t stream) const;

  bool written_once_ = false;
  std::uint32_t features_ = 0, groups_ = 0, ranges_ = 0, count_ = 0;
  DeviceArray<std::uint32_t> columns_;  // by group and feature
  DeviceArray<std::uint32_t> begin_;    // groups x features + 1
  DeviceArray<std::uint32_t> list_, list_begin_;
};

}  // namespace retable::treeshap
