#pragma once
//! @file
//! Sums of a block, and joins of the states of warps and blocks.
//!
//! Problem: joins are the last thing a call waits for. Each state moves once, to the joint map, by
//! a thread of its own: merges one by one would move some several times. The last block joins the
//! states of all, of very many in groups as these end. The code is short on purpose: it runs once,
//! and an instruction that runs once comes from memory.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/tuning.hpp"

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
  at_min = SumLanes(at_min);
  at_max = SumLanes(at_max);
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
template <int kThreads>
struct JoinSpace {
  double moved[kMaxOrder + 1][kThreads];  //!< By order and thread.
  double total[kMaxOrder + 1];
  double bounds[kThreads / 32][2];
  double ends[kThreads / 32][2];
};

//! Writes the sum of `count` states, every `stride`-th, to `out`, by a block: thread i takes the
//! states i, i + kThreads, ... of these.
template <int kThreads>
__device__ __noinline__ void JoinStates(const ChebyshevSums* states, int count, int stride,
                                        int order, JoinSpace<kThreads>& space, ChebyshevSums* out) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  WarpState joint;
#pragma unroll 1
  for (int i = thread; i < count; i += kThreads) {
    const ChebyshevSums& own = states[i * stride];
    joint.min = own.min < joint.min ? own.min : joint.min;
    joint.max = own.max > joint.max ? own.max : joint.max;
  }
  JoinBoundsOfBlock<kThreads>(space.bounds, joint.min, joint.max);
  joint.map = JointMap(joint.min, joint.max);
  const double inverse = joint.map.half > 0 ? 1 / joint.map.half : 0;
#pragma unroll
  for (int k = 0; k <= kMaxOrder; ++k) space.moved[k][thread] = 0;
#pragma unroll 1
  for (int i = thread; i < count; i += kThreads) {
    const ChebyshevSums& own = states[i * stride];
    if (own.sum[0] == 0) continue;
    const bool same = own.map == joint.map;
    const double alpha = same ? 1 : own.map.half * inverse;
    const double beta = same ? 0 : (own.map.centre - joint.map.centre) * inverse;
    joint.at_min += own.min == joint.min ? own.at_min : 0;
    joint.at_max += own.max == joint.max ? own.at_max : 0;
    space.moved[0][thread] += own.sum[0];
    MapChebyshevSums(own.sum, kMaxOrder, alpha, beta,
                     [&](int k, double moved) { space.moved[k][thread] += moved; });
  }
  joint.at_min = SumLanes(joint.at_min);
  joint.at_max = SumLanes(joint.at_max);
  if (lane == 0) {
    space.ends[warp][0] = joint.at_min;
    space.ends[warp][1] = joint.at_max;
  }
  __syncthreads();
  for (int k = warp; k <= kMaxOrder; k += kThreads / 32) {
    double total = 0;
#pragma unroll
    for (int i = 0; i < kThreads; i += 32) total += space.moved[k][i + lane];
    total = SumLanes(total);
    if (lane == 0) space.total[k] = total;
  }
  __syncthreads();
  if (warp == 0) {
    joint.base = space.total[lane % (kMaxOrder + 1)];
    joint.at_min = joint.at_max = 0;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) {
      joint.at_min += space.ends[w][0];
      joint.at_max += space.ends[w][1];
    }
    Store(joint, out, order);
  }
  __syncthreads();
}

//! Whether the block is the last of `count` to come here; it then sees what the others wrote
//! before. `done` is zero at first, and again behind the last.
__device__ __forceinline__ bool IsLast(unsigned* done, unsigned count) {
  __threadfence();
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    last = atomicAdd(done, 1u) == count - 1;
    if (last) *done = 0;
  }
  if (__syncthreads_or(last ? 1 : 0) == 0) return false;
  __threadfence();
  return true;
}

//! Counters of JoinBlocks.
RETABLE_HD constexpr unsigned JoinCounters(unsigned blocks) {
  return 1 + (blocks + kJoinedStates - 1) / kJoinedStates;
}

//! Joins the states of `count` blocks into `out`, as these end: called by each block, behind Store
//! to states[block]. True for the one that wrote `out`. `done`: JoinCounters(count) zeros.
template <int kThreads>
__device__ __forceinline__ bool JoinBlocks(ChebyshevSums* states, unsigned block, unsigned count,
                                           int order, unsigned* done, JoinSpace<kThreads>& space,
                                           ChebyshevSums* out) {
  const unsigned groups = (count + kJoinedStates - 1) / kJoinedStates;
  const unsigned group = block / kJoinedStates;
  ChebyshevSums* const first = states + group * kJoinedStates;
  const unsigned members = group < groups - 1 ? kJoinedStates : count - group * kJoinedStates;
  if (!IsLast(done + 1 + group, members)) return false;
  JoinStates(first, static_cast<int>(members), 1, order, space, groups > 1 ? first : out);
  if (groups == 1) return true;
  if (!IsLast(done, groups)) return false;
  JoinStates(states, static_cast<int>(groups), kJoinedStates, order, space, out);
  return true;
}

}  // namespace retable::quantiles
