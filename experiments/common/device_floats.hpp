#pragma once
//! @file
//! A copy of host values in device memory, for protocols that time CUDA methods on resident data.

#include <cstddef>
#include <span>
#include <stdexcept>

#include "base/cuda/memory.hpp"

namespace retable::experiments {

#if defined(RETABLE_HAS_CUDA)
using DeviceFloats = DeviceArray<float>;
#else
//! Stands where no CUDA method can be asked for. @throws std::runtime_error
class DeviceFloats {
 public:
  explicit DeviceFloats(std::span<const float>) {
    throw std::runtime_error("this build has no CUDA");
  }
  const float* data() const { return nullptr; }
  std::size_t size() const { return 0; }
};
#endif

}  // namespace retable::experiments
