#pragma once
//! @file
//! The CUDA devices of this machine. Compiles without a CUDA toolkit.

namespace retable {

//! CUDA devices that answer; 0 in a program without CUDA.
int CudaDeviceCount();
inline bool HasCudaDevice() {
  return CudaDeviceCount() > 0;
}

}  // namespace retable
