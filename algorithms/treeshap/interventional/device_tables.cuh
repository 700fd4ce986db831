#pragma once
//! @file
//! Treelets on a device: counts of the background's patterns, tables, sums over tables.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/interventional/pattern_model.hpp"
#include "base/cuda/memory.hpp"

namespace retable::treeshap {

//! Rows in device memory, column by column, padded to a multiple of kPaddedRows.
struct DeviceColumns {
  static constexpr std::uint32_t kPaddedRows = 512;

  const float* x = nullptr;  //!< features x stride, infinities clamped
  std::uint32_t stride = 0;
  std::uint32_t rows = 0;
};

//! For one model on the current device. One call at a time.
class DeviceTables {
 public:
  //! Uploads the treelets. The model must outlive it.
  void Prepare(const PatternModel& model);
  //! No rows have been counted.
  void ClearCounts();
  //! Counts the rows' patterns. O(rows x bits of all treelets)
  void Count(const DeviceColumns& rows, cudaStream_t stream);
  //! Tables of what was counted; waits. @return how many rows reached each leaf
  std::vector<std::uint32_t> Make(std::size_t background_rows);
  //! Writes the treelets' part of the rows' values, and 0 in the place of expected values. `out`:
  //! rows x groups x (features + 1). O(rows x (bits + columns) of all treelets)
  void Explain(const DeviceColumns& rows, double* out, cudaStream_t stream);

 private:
  // Treelets whose patterns wait at once, and the outputs that their sums write.
  struct Range {
    std::uint32_t first = 0, treelets = 0;
    std::uint32_t first_group = 0, groups = 0;
    bool continues = false;  // the first output has sums of the range before
    std::size_t begin = 0;   // of its lists of columns
  };
  void PlanRanges();

  const PatternModel* model_ = nullptr;
  std::vector<Range> ranges_;
  DeviceArray<Treelet> treelets_;
  DeviceArray<PatternBit> bits_;
  DeviceArray<TreeletLeaf> leaves_;
  DeviceArray<LeafFeature> leaf_features_;
  DeviceArray<std::uint32_t> sets_, counts_, reached_;
  DeviceArray<double> table_;
  DeviceArray<uint2> columns_;  // treelet of the range, and where the column begins
  DeviceArray<std::uint32_t> begin_;
  DeviceArray<std::uint32_t> patterns_;  // of two rows each
};

}  // namespace retable::treeshap
