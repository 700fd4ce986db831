#pragma once
//! @file
//! Intra-warp ranks: how many earlier lanes and rows of the same warp have the same digit.
//!
//! A counter a digit in shared memory that belongs to one warp gives it in one atomic addition, if
//! the hardware serves the lanes of one instruction in their order. Every device seen so far does,
//! but no manual promises it. So the order is probed when memory is prepared, and a device that
//! fails ranks by matching lanes, which costs some twenty instructions more. The family's CUDA
//! tests check every rank of every size against the CPU.

#include <cstdint>

#include "algorithms/shuffle/block.cuh"

namespace retable::shuffle {

//! Whether the current device serves the lanes of a shared atomic instruction in their order:
//! probed once a device, which waits for it.
bool ServesLanesInOrder();

//! Adds `one` to the warp's counter, at an address of shared memory, for each valid lane, in the
//! order of lanes, and returns what it was before. Called by whole warps.
template <bool kLanesInOrder>
__device__ __forceinline__ std::uint32_t RankInWarp(std::uint32_t counter, std::uint32_t one,
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
__device__ __forceinline__ std::uint32_t RankInWarp(std::uint32_t* counter, std::uint32_t one,
                                                    bool valid) {
  return RankInWarp<kLanesInOrder>(SharedAddress(counter), one, valid);
}

}  // namespace retable::shuffle
