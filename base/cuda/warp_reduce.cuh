#pragma once
//! @file
//! Sums, minima and maxima of 32-bit integers over a whole warp, in all its lanes; device code.
//! One instruction from compute capability 8.0 on, five shuffles before.

#include <cstdint>

namespace retable {

template <class Join>
__device__ __forceinline__ std::uint32_t WarpReduce(std::uint32_t x, const Join& join) {
  for (int step = 16; step > 0; step /= 2) x = join(x, __shfl_xor_sync(0xFFFFFFFFu, x, step));
  return x;
}

__device__ __forceinline__ std::uint32_t WarpAdd(std::uint32_t x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xFFFFFFFFu, x);
#else
  return WarpReduce(x, [](std::uint32_t a, std::uint32_t b) { return a + b; });
#endif
}

__device__ __forceinline__ std::uint32_t WarpMin(std::uint32_t x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xFFFFFFFFu, x);
#else
  return WarpReduce(x, [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; });
#endif
}

__device__ __forceinline__ std::uint32_t WarpMax(std::uint32_t x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xFFFFFFFFu, x);
#else
  return WarpReduce(x, [](std::uint32_t a, std::uint32_t b) { return a < b ? b : a; });
#endif
}

}  // namespace retable
