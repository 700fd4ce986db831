#pragma once
//! @file
//! Leaves too deep for tables on a device: for each, the background's distinct patterns.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/interventional/device_tables.cuh"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"

namespace retable::treeshap {

//! A deep leaf.
struct DeepLeaf {
  double value = 0;  //!< the leaf's, over the number of background rows
  std::uint32_t first_bit = 0, bits = 0;
  std::uint32_t first_pattern = 0, patterns = 0;
};

//! What background rows follow of a leaf's path, and how many of them.
struct DeepPattern {
  unsigned long long follows;
  unsigned long long count;
};

//! Leaves in a row of one output.
struct DeepRange {
  std::uint32_t first, count;
};

//! For one model on the current device. One call at a time.
class DevicePatterns {
 public:
  //! Distinct features of a path, at most: bits of a pattern.
  static constexpr std::int32_t kMostFeatures = 64;

  //! Of the trees, leaves of value 0 left out.
  void Prepare(const TreeEnsemble& trees);
  bool empty() const { return leaves_.empty(); }
  //! Finds each leaf's patterns on the host. O(leaves x rows log rows)
  void SetBackground(const RowBlock& background);
  //! Rows that may be explained at once: what their sums take is limited.
  std::size_t MostRows() const;
  //! Adds the leaves' part to the rows' values. O(rows x sum over leaves of (features + patterns))
  void Add(const DeviceColumns& rows, double* out, cudaStream_t stream);

 private:
  void PlanRanges();
  std::vector<DeepPattern> Patterns(const Path& path, const RowBlock& background) const;

  std::size_t features_ = 0, groups_ = 0;
  PathList paths_;
  std::vector<DeepLeaf> leaves_;
  std::uint32_t side_ = 1;  // of the weights
  DeviceArray<PatternBit> bits_;
  DeviceArray<DeepLeaf> device_leaves_;
  DeviceArray<DeepPattern> patterns_;
  DeviceArray<DeepRange> ranges_;
  DeviceArray<std::uint32_t> sets_;
  DeviceArray<double> weights_, partial_;
  PartialSums sums_;
};

}  // namespace retable::treeshap
