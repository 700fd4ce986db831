#pragma once
//! @file
//! A copy of host values in device memory, for protocols that time CUDA methods on resident data.

#include <cstddef>
#include <span>

namespace retable::experiments {

class DeviceArray {
 public:
  //! Allocates and copies. @throws std::runtime_error on a CUDA error, or in a build without CUDA.
  explicit DeviceArray(std::span<const float> values);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace retable::experiments
