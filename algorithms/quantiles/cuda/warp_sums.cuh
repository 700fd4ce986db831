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

//! The sum over a warp's lanes, in all of them.
__device__ __forceinline__ double SumLanes(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kFull, x, step);
  return x;
}

//! Sums each of 16 or 32 slots over a warp: lane j gets that of slot j / kLanes, of so many lanes.
//! A fixed tree: each exchange halves the number of slots of a lane.
template <int kSlots, int kHalf = kSlots / 2, class Real>
__device__ __forceinline__ Real SumSlots(Real (&slot)[kSlots]) {
  constexpr int kLanes = 32 / kSlots;
  static_assert(kLanes <= 2);
  const bool upper = (threadIdx.x & (kLanes * kHalf)) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const Real given = upper ? slot[i] : slot[i + kHalf];
    const Real kept = upper ? slot[i + kHalf] : slot[i];
    slot[i] = kept + __shfl_xor_sync(kFull, given, kLanes * kHalf);
  }
  if constexpr (kHalf > 1) {
    return SumSlots<kSlots, kHalf / 2>(slot);
  } else if constexpr (kLanes == 2) {
    return slot[0] + __shfl_xor_sync(kFull, slot[0], 1);
  } else {
    return slot[0];
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

//! RecoverSums across lanes: S_{m+j} = P_{m,j} - S_{m-j} for m = 4, 8, 12 in turn. Lane 0: nothing.
template <int L>
__device__ __forceinline__ double RecoverByWarp(double sum) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int m = 4; m <= L; m += 4) {
    const int mirror = 2 * m - lane;
    const double taken = FromLane(sum, mirror < 0 ? 0 : mirror);
    if (lane > m && lane < m + 4) sum -= taken;
  }
  return 0.5 * sum;
}

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
  if (map.half > 0 && !(2 / map.half < Infinity<double>())) map.half = 0;
  return map;
}

}  // namespace retable::quantiles
