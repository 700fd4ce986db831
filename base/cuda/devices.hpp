#pragma once
//! @file
//! The CUDA devices of this machine. Compiles without a CUDA toolkit.

#include "base/cuda/no_device.hpp"

namespace retable {

//! Creates no context: no memory of a device is taken.
CudaState AskCuda();
//! Of this machine; the answer is found once a process.
const NoDevice& WhyNoDevice();

//! Why device 0 takes no work of this process at present: its memory is full, or another process
//! holds it. Creates a context.
//! @param keep the context, for work that follows; else it is given back
NoDevice WhyNoContext(bool keep);

//! For work on device 0, which keeps its context. @throws std::invalid_argument, which says why and
//! what to do, where it takes none
void RequireDevice();

//! CUDA devices, where device 0 can be used; else 0.
int CudaDeviceCount();
inline bool HasCudaDevice() {
  return CudaDeviceCount() > 0;
}

}  // namespace retable
