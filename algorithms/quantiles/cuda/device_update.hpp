#pragma once
//! @file
//! Updates of a sketch from device memory.

#include <cstddef>

namespace retable::quantiles {

//! Implemented by sketches and accumulators that sum on a CUDA device.
class DeviceUpdate {
 public:
  virtual ~DeviceUpdate() = default;
  //! Adds n values in device memory, in order on `stream` (a cudaStream_t; nullptr: the
  //! default stream), and waits for the result. @throws std::runtime_error on a CUDA error.
  virtual void update_device(const float* values, std::size_t n, void* stream) = 0;
  virtual void update_device(const double* values, std::size_t n, void* stream) = 0;
};

}  // namespace retable::quantiles
