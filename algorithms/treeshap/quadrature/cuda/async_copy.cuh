#pragma once
//! @file
//! Copies from global to shared memory that pass no register (cp.async); device code.

#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! Begins to copy this thread's share of `count` groups of four words: each `step`-th from `first`.
__device__ __forceinline__ void CopyAsync(Float4* to, const Float4* from, std::uint32_t count,
                                          std::uint32_t first, std::uint32_t step) {
  for (std::uint32_t i = first; i < count; i += step) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

//! Waits for this thread's copies; a barrier must follow before other threads read them.
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

}  // namespace retable::treeshap
