#pragma once
//! @file
//! Rows of a table, in device memory, as rows of the model (model/feature_encoding.hpp).

#include <cstddef>
#include <cstdint>

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

//! For one model on the current device. One call at a time.
class RowEncoder {
 public:
  explicit RowEncoder(const TreeEnsemble& model);

  //! The rows with encoded values, on their stream; they are there until the next call, which waits
  //! for Release. O(values log cuts)
  DeviceRows Encode(DeviceRows rows);
  //! What reads the encoded rows is in the stream.
  void Release(void* stream) const { read_.Record(static_cast<cudaStream_t>(stream)); }

 private:
  std::uint32_t columns_;
  DeviceArray<double> cuts_;
  DeviceArray<std::uint32_t> begin_;  // of each feature's cuts, columns + 1
  DeviceArray<RankRule> rules_;
  DeviceArray<float> rows_;
  CudaEvent read_{cudaEventDisableTiming};
};

}  // namespace retable::treeshap
