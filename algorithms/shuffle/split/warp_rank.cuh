#pragma once
//! @file
//! Arrival numbers: how many earlier lanes and rows of the same warp have the same digit.
//!
//! A counter a digit in shared memory that belongs to one warp gives it in one atomic addition, if
//! the hardware serves the lanes of one instruction in their order. Every device we have seen does,
//! but no manual promises it. So the order is probed when memory is prepared (split/warp_rank.hpp),
//! and a device that fails gets its arrival numbers by matching lanes, which costs some twenty
//! instructions more. Every arrival of every size is also checked against the CPU by the
//! family's CUDA tests.

#include <cstdint>

#include "algorithms/shuffle/block.cuh"

namespace retable::shuffle {

//! Adds `one` to the warp's counter, at an address of shared memory, for each valid lane, in the
//! order of lanes, and returns what it was before. Called by whole warps.
template <bool kLanesInOrder>
__device__ __forceinline__ std::uint32_t Arrive(std::uint32_t counter, std::uint32_t one,
                                                bool valid) {
  if constexpr (kLanesInOrder) return valid ? AddShared(counter, one) : 0;
  const std::uint32_t peers = __match_any_sync(0xFFFFFFFFu, valid ? counter : 0xFFFFFFFFu);
  const std::uint32_t lane = threadIdx.x & 31;
  const auto earlier = static_cast<std::uint32_t>(__popc(peers & ((1u << lane) - 1)));
  std::uint32_t before = 0;
  if (valid && earlier == 0) before = AddShared(counter, one * __popc(peers));
  before = __shfl_sync(0xFFFFFFFFu, before, __ffs(peers) - 1);
  __syncwarp();
  return before + one * earlier;
}
template <bool kLanesInOrder>
__device__ __forceinline__ std::uint32_t Arrive(std::uint32_t* counter, std::uint32_t one,
                                                bool valid) {
  return Arrive<kLanesInOrder>(SharedAddress(counter), one, valid);
}

}  // namespace retable::shuffle
