#pragma once
//! @file
//! What kernels write and the host reads.

#if defined(RETABLE_HAS_CUDA) || defined(__CUDACC__)

#include <cstddef>

#include "base/cuda/memory.hpp"

namespace retable::quantiles {

//! An array in page-locked memory, which kernels write to: a copy would take a third of a short
//! call. Where the system locks no more memory, kernels write to the device and a copy follows.
template <class T>
class Answers {
 public:
  //! Room for `count` answers. @return where kernels write
  T* Reserve(std::size_t count) {
    T* const host = host_.Reserve(count);
    count_ = count;
    return host_.pinned() ? host : device_.Reserve(count);
  }
  //! Waits for what `stream` holds. @return the answers, on the host
  const T* Fetch(void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    if (!host_.pinned()) {
      CheckCuda(cudaMemcpyAsync(host_.data(), device_.data(), count_ * sizeof(T),
                                cudaMemcpyDeviceToHost, on),
                "copy of answers");
    }
    CheckCuda(cudaStreamSynchronize(on), "waiting for answers");
    return host_.data();
  }

 private:
  PinnedArray<T> host_;
  DeviceArray<T> device_;
  std::size_t count_ = 0;
};

}  // namespace retable::quantiles

#endif
