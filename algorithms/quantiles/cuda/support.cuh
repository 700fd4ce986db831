#pragma once
//! @file
//! 16-byte loads and compiled orders, for all CUDA sources of the family.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cuda/memory.hpp"

namespace retable::quantiles {

//! Values in a 16-byte load.
template <class Real>
inline constexpr int kWideValues = 16 / sizeof(Real);

//! One 16-byte load, from an address aligned to it.
__device__ __forceinline__ void LoadWide(const double* p, double* out) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p));
  out[0] = v.x;
  out[1] = v.y;
}
__device__ __forceinline__ void LoadWide(const float* p, float* out) {
  const float4 v = __ldcs(reinterpret_cast<const float4*>(p));
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
  out[3] = v.w;
}

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

//! How many of n values lie before the first address aligned to 16 bytes.
template <class Real>
__host__ __device__ std::size_t ValuesBeforeAligned(const Real* values, std::size_t n) {
  const std::size_t off = reinterpret_cast<std::uintptr_t>(values) % 16;
  const std::size_t head = off == 0 ? 0 : (16 - off) / sizeof(Real);
  return head < n ? head : n;
}

//! Calls function(integral_constant<int, L>) with the smallest compiled L of 5, 10, 15 >= order.
template <class Function>
void DispatchCompiledOrder(int order, const Function& function) {
  if (order <= 5) {
    function(std::integral_constant<int, 5>{});
  } else if (order <= 10) {
    function(std::integral_constant<int, 10>{});
  } else {
    function(std::integral_constant<int, 15>{});
  }
}

}  // namespace retable::quantiles
