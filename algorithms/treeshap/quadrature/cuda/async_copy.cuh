#pragma once
//! @file
//! Copies from global to shared memory that pass no register (cp.async, from compute capability 8.0
//! on; plain copies before); device code.

#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! Begins to copy this thread's share of `count` groups of four words: each `step`-th from `first`.
//! kPastFirstLevel: not by the first-level cache.
template <bool kPastFirstLevel = false>
__device__ __forceinline__ void CopyAsync(Float4* to, const Float4* from, std::uint32_t count,
                                          std::uint32_t first, std::uint32_t step) {
  for (std::uint32_t i = first; i < count; i += step) {
#if __CUDA_ARCH__ >= 800
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to + i));
    if constexpr (kPastFirstLevel) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i)
                   : "memory");
    }
#else
    to[i] = from[i];
#endif
  }
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//! Waits for this thread's copies; a barrier must follow before other threads read them.
__device__ __forceinline__ void WaitForCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

}  // namespace retable::treeshap
