#pragma once
//! @file
//! The GPUs that a forest can be grown on.

namespace retable::extratrees {

//! CUDA devices that answer; 0 in a program without CUDA.
int CudaDeviceCount();
inline bool HasCudaDevice() {
  return CudaDeviceCount() > 0;
}

}  // namespace retable::extratrees
