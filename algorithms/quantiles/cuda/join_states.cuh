#pragma once
//! @file
//! Sums of a block, and joins of the states of warps and blocks.
//!
//! Problem: joins are the last thing a call waits for. Each state moves once, to the joint map, by
//! a lane of its own: merges one by one would move some several times. One warp joins up to 32
//! states; many blocks are joined in groups as these end, the groups by the last one. The code is
//! short on purpose: it runs once, and an instruction that runs once comes from memory.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/warp_sums.cuh"

namespace retable::quantiles {

//! Bounds of a warp -> those of the block, through shared memory, behind a barrier.
template <int kThreads>
__device__ __forceinline__ void JoinBoundsOfBlock(double (&shared)[kThreads / 32][2], double& low,
                                                  double& high) {
  JoinBounds(low, high);
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32][0] = low;
    shared[threadIdx.x / 32][1] = high;
  }
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) {
    low = shared[w][0] < low ? shared[w][0] : low;
    high = shared[w][1] > high ? shared[w][1] : high;
  }
}

//! Shared memory of StoreTerms.
template <int kThreads>
struct TermSpace {
  double slots[kThreads / 32][16];
  double ends[kThreads / 32][2];
};

//! Adds the terms of a block's threads (AddChebyshevTerms; slot[0] is a count), and their counts of
//! values on the bounds, into `out`.
template <int kThreads>
__device__ __forceinline__ void StoreTerms(double (&slot)[16], double at_min, double at_max,
                                           int order, const ChebyshevMap& map, double low,
                                           double high, TermSpace<kThreads>& space,
                                           ChebyshevSums* out) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double sum = SumSlots(slot);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    at_min += __shfl_xor_sync(kFull, at_min, step);
    at_max += __shfl_xor_sync(kFull, at_max, step);
  }
  if (lane % 2 == 0) space.slots[warp][lane / 2] = sum;
  if (lane == 0) {
    space.ends[warp][0] = at_min;
    space.ends[warp][1] = at_max;
  }
  __syncthreads();
  if (warp > 0) return;
  WarpState state;
  state.map = map;
  state.min = low;
  state.max = high;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) {
    state.base += space.slots[w][lane % 16];
    state.at_min += space.ends[w][0];
    state.at_max += space.ends[w][1];
  }
  const double recovered = RecoverByWarp<kMaxOrder>(state.base);
  if (lane > 0) state.base = recovered;
  Store(state, out, order);
}

//! Shared memory of JoinStates.
struct JoinSpace {
  static constexpr int kParts = sizeof(ChebyshevSums) / sizeof(double2);
  static_assert(sizeof(ChebyshevSums) == kParts * sizeof(double2));
  double2 first[32 * kParts];       //!< The first states.
  double moved[kMaxOrder + 1][32];  //!< By order and lane.
};

//! Copies up to 32 states, every `stride`-th, to shared memory: all loads are in flight at once.
__device__ __forceinline__ void CopyStates(const ChebyshevSums* states, int count, int stride,
                                           double2* to) {
  constexpr int kParts = JoinSpace::kParts;
  const auto* const from = reinterpret_cast<const double2*>(states);
#pragma unroll
  for (int j = 0; j < kParts; ++j) {
    const int i = j * 32 + static_cast<int>(threadIdx.x) % 32;
    const int at = i < count * kParts ? i : 0;
    to[i] = from[at / kParts * stride * kParts + at % kParts];
  }
  __syncwarp();
}

//! Writes the sum of `count` states, every `stride`-th, to `out`, by one warp: lane i takes the
//! states i, i + 32, ... of these.
__device__ __noinline__ inline void JoinStates(const ChebyshevSums* states, int count, int stride,
                                               int order, JoinSpace& space, ChebyshevSums* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  WarpState joint;
  CopyStates(states, count < 32 ? count : 32, stride, space.first);
  const auto state = [&](int i) -> const ChebyshevSums& {
    return i < 32 ? reinterpret_cast<const ChebyshevSums*>(space.first)[i] : states[i * stride];
  };
#pragma unroll 1
  for (int i = lane; i < count; i += 32) {
    const ChebyshevSums& own = state(i);
    joint.min = own.min < joint.min ? own.min : joint.min;
    joint.max = own.max > joint.max ? own.max : joint.max;
  }
  JoinBounds(joint.min, joint.max);
  joint.map = JointMap(joint.min, joint.max);
  const double inverse = joint.map.half > 0 ? 1 / joint.map.half : 0;
#pragma unroll
  for (int k = 0; k <= kMaxOrder; ++k) space.moved[k][lane] = 0;
#pragma unroll 1
  for (int i = lane; i < count; i += 32) {
    const ChebyshevSums& own = state(i);
    if (own.sum[0] == 0) continue;
    const bool same = own.map == joint.map;
    const double alpha = same ? 1 : own.map.half * inverse;
    const double beta = same ? 0 : (own.map.centre - joint.map.centre) * inverse;
    joint.at_min += own.min == joint.min ? own.at_min : 0;
    joint.at_max += own.max == joint.max ? own.at_max : 0;
    space.moved[0][lane] += own.sum[0];
    MapChebyshevSums(own.sum, kMaxOrder, alpha, beta,
                     [&](int k, double moved) { space.moved[k][lane] += moved; });
  }
  __syncwarp();
  // Two lanes add a row, each its half, from different banks.
  const double* const row = space.moved[lane / 2] + lane % 2 * 16;
  double total = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) total += row[(i + lane / 2) % 16];
  total += __shfl_xor_sync(kFull, total, 1);
  joint.base = FromLane(total, lane < 16 ? 2 * lane : 0);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    joint.at_min += __shfl_xor_sync(kFull, joint.at_min, step);
    joint.at_max += __shfl_xor_sync(kFull, joint.at_max, step);
  }
  Store(joint, out, order);
  __syncwarp();
}

//! Whether the warp is the last of `count` to come here; it then sees what the others wrote before.
//! `done` is zero at first, and again behind the last.
__device__ __forceinline__ bool IsLast(unsigned* done, unsigned count) {
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (threadIdx.x % 32 == 0) {
    before = atomicAdd(done, 1u);
    if (before == count - 1) *done = 0;
  }
  if (__shfl_sync(kFull, before, 0) != count - 1) return false;
  __threadfence();
  return true;
}

//! Counters of JoinBlocks.
RETABLE_HD constexpr unsigned JoinCounters(unsigned blocks) {
  return 1 + (blocks + 31) / 32;
}

//! Joins the states of `count` blocks into `out`, as these end: called by a warp of each block,
//! behind Store to states[block]. True for the one that wrote `out`. `done`: JoinCounters(count)
//! zeros.
__device__ __forceinline__ bool JoinBlocks(ChebyshevSums* states, unsigned block, unsigned count,
                                           int order, unsigned* done, JoinSpace& space,
                                           ChebyshevSums* out) {
  const unsigned groups = (count + 31) / 32;
  const unsigned group = block / 32;
  ChebyshevSums* const first = states + group * 32;
  const unsigned members = group < groups - 1 ? 32 : count - group * 32;
  if (!IsLast(done + 1 + group, members)) return false;
  JoinStates(first, static_cast<int>(members), 1, order, space, groups > 1 ? first : out);
  if (groups == 1) return true;
  if (!IsLast(done, groups)) return false;
  JoinStates(states, static_cast<int>(groups), 32, order, space, out);
  return true;
}

}  // namespace retable::quantiles
