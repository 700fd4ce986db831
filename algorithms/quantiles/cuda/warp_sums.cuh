#pragma once
//! @file
//! Chebyshev sums of a warp: moves to wider maps, and joins.

#include <cuda_runtime.h>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

inline constexpr unsigned kFull = 0xffffffffu;

__device__ __forceinline__ double FromLane(double x, int lane) {
  return __shfl_sync(kFull, x, lane);
}

//! Sums each of 16 slots over a warp: lane j gets that of slot j / 2. A fixed tree of 16 shuffles.
template <int kHalf = 8, class Real>
__device__ __forceinline__ Real SumSlots(Real (&slot)[16]) {
  const bool upper = (threadIdx.x & (2 * kHalf)) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const Real given = upper ? slot[i] : slot[i + kHalf];
    const Real kept = upper ? slot[i + kHalf] : slot[i];
    slot[i] = kept + __shfl_xor_sync(kFull, given, 2 * kHalf);
  }
  if constexpr (kHalf > 1) {
    return SumSlots<kHalf / 2>(slot);
  } else {
    return slot[0] + __shfl_xor_sync(kFull, slot[0], 1);
  }
}

//! The least and the largest over a warp's lanes.
__device__ __forceinline__ void JoinBounds(double& least, double& most) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const double other_least = __shfl_xor_sync(kFull, least, step);
    const double other_most = __shfl_xor_sync(kFull, most, step);
    least = other_least < least ? other_least : least;
    most = other_most > most ? other_most : most;
  }
}

//! A warp's state between tiles. Lane k holds sums of T_k in `base`, k = 0..L; the counts are per
//! lane; all else is equal in all lanes.
struct WarpState {
  double base = 0;
  ChebyshevMap map;
  double min = Infinity<double>();
  double max = -Infinity<double>();
  double at_min = 0;
  double at_max = 0;
};

//! Lane j holds sums of T_j(t) -> lane k holds sums of T_k(alpha t + beta).
__device__ __forceinline__ double MapByWarp(double sum, double alpha, double beta, int order) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int up = (lane + 1) % 32;
  const int down = lane == 0 ? 1 : lane - 1;
  double out = sum;
  double before = sum;
  double now = beta * sum + 0.5 * alpha * (FromLane(sum, up) + FromLane(sum, down));
#pragma unroll 1
  for (int k = 1; k <= order; ++k) {
    const double moved = FromLane(now, 0);
    out = lane == k ? moved : out;
    const double next = 2 * beta * now + alpha * (FromLane(now, up) + FromLane(now, down)) - before;
    before = now;
    now = next;
  }
  return lane <= order ? out : 0;
}

__device__ __forceinline__ void MoveTo(WarpState& state, const ChebyshevMap& wider, int order) {
  if (state.map == wider) return;
  const double inverse = wider.half > 0 ? 1 / wider.half : 0;
  state.base = MapByWarp(state.base, state.map.half * inverse,
                         (state.map.centre - wider.centre) * inverse, order);
  state.map = wider;
}

//! Stores a state, its sums beyond the order as zeros; called by the whole warp.
__device__ __forceinline__ void Store(const WarpState& state, ChebyshevSums* out, int order) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane <= kMaxOrder) out->sum[lane] = lane <= order ? state.base : 0;
  if (lane == 0) {
    out->map = state.map;
    out->min = state.min;
    out->max = state.max;
    out->at_min = state.at_min;
    out->at_max = state.at_max;
  }
}
//! The map of joint bounds; half = 0 for a range whose inverse overflows.
__device__ __forceinline__ ChebyshevMap JointMap(double low, double high) {
  ChebyshevMap map;
  if (low <= high) map = ChebyshevMap::Of(low, high);
  if (map.half > 0 && !(1 / map.half < Infinity<double>())) map.half = 0;
  return map;
}

//! The least and the largest value of states first, first + stride, ... below count, over a warp.
__device__ __forceinline__ void JoinBoundsOf(const ChebyshevSums* states, int first, int stride,
                                             int count, double& low, double& high) {
  low = Infinity<double>();
  high = -Infinity<double>();
  for (int i = first; i < count; i += stride) {
    low = states[i].min < low ? states[i].min : low;
    high = states[i].max > high ? states[i].max : high;
  }
  JoinBounds(low, high);
}

//! Adds states first, first + stride, ... below count on their joint bounds, over a warp; counts
//! are in all lanes. Each lane moves its own states: moves by the whole warp would wait for
//! shuffles.
__device__ __forceinline__ WarpState AddStates(const ChebyshevSums* states, int first, int stride,
                                               int count, double low, double high, int order) {
  WarpState joint;
  joint.min = low;
  joint.max = high;
  joint.map = JointMap(low, high);
  double slot[16] = {0};
#pragma unroll 1
  for (int i = first; i < count; i += stride) {
    ChebyshevSums sums = states[i];
    if (sums.sum[0] == 0) continue;
    sums.MoveTo(joint.map, order);
#pragma unroll
    for (int k = 0; k < 16; ++k) slot[k] += k <= order ? sums.sum[k] : 0;
    joint.at_min += sums.min == low ? sums.at_min : 0;
    joint.at_max += sums.max == high ? sums.at_max : 0;
  }
  const double sum = SumSlots(slot);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  joint.base = FromLane(sum, lane < 16 ? 2 * lane : 0);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    joint.at_min += __shfl_xor_sync(kFull, joint.at_min, step);
    joint.at_max += __shfl_xor_sync(kFull, joint.at_max, step);
  }
  return joint;
}

//! Joins the states of a block's warps, counts already summed over lanes; warp 0 has the result.
//! Each state moves once, to the joint map: a tree would move some several times. `states` is
//! shared memory.
__device__ __forceinline__ WarpState JoinBlock(WarpState state, ChebyshevSums* states, int order) {
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 0) {
    states[warp].min = state.min;
    states[warp].max = state.max;
  }
  __syncthreads();
  double low = states[lane % warps].min;
  double high = states[lane % warps].max;
  JoinBounds(low, high);
  __syncthreads();
  state.at_min = state.min == low ? state.at_min : 0;
  state.at_max = state.max == high ? state.at_max : 0;
  state.min = low;
  state.max = high;
  const ChebyshevMap joint = JointMap(low, high);
  if (FromLane(state.base, 0) > 0) MoveTo(state, joint, order);
  state.map = joint;
  Store(state, states + warp, order);
  __syncthreads();
  if (warp > 0) return state;
  state.base = 0;
  state.at_min = 0;
  state.at_max = 0;
#pragma unroll 1
  for (int w = 0; w < warps; ++w) {
    state.base += lane <= order ? states[w].sum[lane] : 0;
    state.at_min += states[w].at_min;
    state.at_max += states[w].at_max;
  }
  return state;
}

}  // namespace retable::quantiles
