#pragma once
//! @file
//! What calls on the memory of device 0 have in common. Throws where there is no CUDA.

#include <stdexcept>
#include <string>

#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"

namespace retable {

//! Why no device answers, with what to do about it in brackets; empty where one does.
inline std::string WhyNoCuda() {
  if (HasCudaDevice()) return "";
  const NoDevice& answer = WhyNoDevice();
  if (!answer.any()) return "no CUDA device answers";
  return answer.remedy.empty() ? answer.why : answer.why + " (" + answer.remedy + ")";
}

//! Device 0 is the current one while this lives, and then the caller's again. @throws
//! std::invalid_argument, with the reason, where there is none
class OnDevice {
 public:
  OnDevice() {
    if (!HasCudaDevice()) throw std::invalid_argument(WhyNoCuda());
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
