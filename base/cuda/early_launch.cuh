#pragma once
//! @file
//! Kernels that are set up while the kernel before them on the stream still runs: programmatic
//! dependent launches, from compute capability 9.0 on.

#include <cuda_runtime.h>

#include <cstddef>

#include "base/cuda/memory.hpp"

namespace retable {

//! Lets a kernel that LaunchBehind launched start before this one ends.
__device__ __forceinline__ void LetNextStart() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
//! Waits for what the kernels before this one wrote.
__device__ __forceinline__ void WaitForKernelsBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
//! Whether the two functions above do so in this kernel, on the current device.
template <class... Parameters>
bool CanStartEarly(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  CheckCuda(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
            "attributes of a kernel");
  return attributes.ptxVersion >= 90 && ComputeCapability() >= 90;
}

struct LaunchShape {
  int blocks;
  int threads;
  std::size_t shared;
  bool early;  //!< CanStartEarly
};
//! Launches a kernel that waits for the one before it on the stream by WaitForKernelsBefore.
template <class... Parameters, class... Arguments>
void LaunchBehind(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                  Arguments... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = shape.early ? 1 : 0;
  CheckCuda(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), "launch of a kernel");
}

}  // namespace retable
