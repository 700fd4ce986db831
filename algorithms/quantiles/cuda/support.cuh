#pragma once
//! @file
//! 16-byte loads and compiled orders, for all CUDA sources of the family.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cuda/early_launch.cuh"

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
