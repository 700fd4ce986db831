#pragma once
//! @file
//! Updates from device memory, for the CUDA twins.

#include <cstddef>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

//! Implemented by what sums on a CUDA device.
class DeviceUpdate {
 public:
  virtual ~DeviceUpdate() = default;
  //! Adds n values in device memory, in order after what `stream` (a cudaStream_t; nullptr: the
  //! default stream) holds, and waits for the result. @throws std::runtime_error on a CUDA error.
  virtual void update_device(const float* values, std::size_t n, void* stream) = 0;
  virtual void update_device(const double* values, std::size_t n, void* stream) = 0;
};

//! The device side of a sketch, or nullptr where it has none.
DeviceUpdate* DeviceUpdateOf(QuantileSketch& sketch);

}  // namespace retable::quantiles
