#pragma once
//! @file
//! Explanations of rows in device memory.

#include <cstddef>

namespace retable::treeshap {

//! Rows in the memory of a device, row-major, a float a feature of the model, and where their
//! results go there.
struct DeviceRows {
  const float* values = nullptr;
  std::size_t rows = 0;
  double* results = nullptr;
  void* stream = nullptr;  //!< a cudaStream_t; null: the default stream
};

//! Implemented by explainers that read the memory of their device. The numbers are those of
//! values_to and interactions_to (tree_explainer.hpp), behind what the stream holds. Calls wait
//! until the rows are there and return when the rest is in the stream.
class DeviceExplainer {
 public:
  virtual ~DeviceExplainer() = default;
  virtual void values_on_device(const DeviceRows& rows) = 0;
  //! @throws std::logic_error where the method has no interaction values.
  virtual void interactions_on_device(const DeviceRows& rows) = 0;
};

}  // namespace retable::treeshap
