#pragma once
//! @file
//! Segments of a tape joined to ranges, which are what blocks take.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/treeshap/quadrature/cuda/launch.hpp"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

struct TapeRanges {
  std::vector<TapeRange> ranges;
  std::vector<RangeSums> sums;  //!< one a range

  //! Appends consecutive segments as new ranges of one output and at most `most` chunks each, a
  //! longer segment as a range of its own. `columns`: sums are written once (RangeSums).
  void Append(std::span<const TapeSegment> segments, std::size_t most, bool columns) {
    const std::size_t first = ranges.size();
    for (const TapeSegment& segment : segments) {
      const bool open = ranges.size() > first && sums.back().group == segment.group &&
                        ranges.back().chunks + segment.chunks <= most;
      if (!open) {
        ranges.push_back({static_cast<std::uint32_t>(segment.first_chunk), 0});
        sums.push_back({segment.group, {}});
      }
      ranges.back().chunks += static_cast<std::uint32_t>(segment.chunks);
      sums.back().Merge(segment.features, columns);
    }
  }
};

}  // namespace retable::treeshap
