#pragma once
//! @file
//! What calls on device memory have in common.

#include <stdexcept>

#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"
#include "retable/core.hpp"

namespace retable {

//! Device 0 is the current one while this lives, and then the caller's again. @throws
//! std::invalid_argument, with the reason, where there is none
class OnDevice {
 public:
  OnDevice() {
    if (!HasCudaDevice()) throw std::invalid_argument(WhyNoCudaDevice());
#if defined(RETABLE_HAS_CUDA)
    CheckCuda(cudaGetDevice(&before_), "cudaGetDevice");
    CheckCuda(cudaSetDevice(0), "cudaSetDevice");
#endif
  }
  ~OnDevice() {
#if defined(RETABLE_HAS_CUDA)
    cudaSetDevice(before_);
#endif
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace retable
