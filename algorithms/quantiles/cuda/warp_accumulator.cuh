#pragma once
//! @file
//! Chebyshev sums of one warp over tiles in shared memory, with bounds that widen as values come.
//!
//! Constraint: on an H200 a float64 value may cost 31 double-precision instructions at the speed of
//! reading, and sums of order 15 take 22: bounds must cost next to nothing. Approach: the warp
//! keeps an interval, the exact bounds of what it has seen. A lane maps a tile of values in
//! registers to y = 2t and tests all for |y| >= 2 at half an integer instruction a value
//! (ExponentWord); the map is a little narrower than the interval, so that the test finds the
//! bounds too. One vote tells whether any value of the warp lies near a bound or outside. If none
//! does (nearly always, for continuous data), the fast path sums in registers. Otherwise the exact
//! path finds true bounds, counts values on them and skips NaN (float32_sums.cuh has a middle
//! path). If the interval grew, the lanes' sums are joined by shuffles and moved to the wider
//! interval by the whole warp, lane j holding V_k[j].

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
// Internal linkage: nvcc then allocates registers across the calls that are not inlined.
namespace {

constexpr int kStreamWarps = kStreamThreads / 32;

//! The word of y that holds its exponent. Bit 30 is set if and only if |y| >= 2 or y is NaN: one
//! three-way OR tests two values.
__device__ __forceinline__ unsigned ExponentWord(double y) {
  return static_cast<unsigned>(__double2hiint(y));
}
__device__ __forceinline__ unsigned ExponentWord(float y) {
  return __float_as_uint(y);
}
constexpr unsigned kAtLeastTwo = 1u << 30;
//! The map is shrunk by this factor, so that values on a bound have |y| > 2 however they round.
constexpr double kMapShrink = 0x1p-16;

//! 16 bytes of shared memory into registers.
__device__ __forceinline__ void CopyWide(const double* p, double* out) {
  const double2 v = *reinterpret_cast<const double2*>(p);
  out[0] = v.x;
  out[1] = v.y;
}
__device__ __forceinline__ void CopyWide(const float* p, float* out) {
  const float4 v = *reinterpret_cast<const float4*>(p);
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
  out[3] = v.w;
}

//! The sums of one warp over its tiles.
template <class Real, int L>
struct WarpAccumulator {
  static constexpr bool kIsFloat32 = sizeof(Real) == 4;

  WarpState& state;  //!< Outside of registers, since full tiles inside the bounds do not need it.
  //! [0] counts this lane's values. float64 input: [k] is the lane's sum of order k since the last
  //! join. float32 input: [1] is the warp's sum of order lane / 2 since the last join.
  double sums[kIsFloat32 ? 2 : L + 1];
  //! y = x * scale + offset, if the centre is within 16 half ranges of zero. Else y = (x - centre)
  //! * scale, plus offset for float32 input.
  bool direct = false;
  Real centre;
  Real scale;
  Real offset;
  Real low;               //!< state.min
  Real high;              //!< state.max
  int missing_count = 0;  //!< float32 input: missing values summed as y = 0 since the last join.
  //! float32 input: by how much the mapped values near the lower and the upper bound were rounded
  //! since the last join. Densities that are steep there do not round to zero on average.
  double rounded[2] = {0, 0};

  __device__ __forceinline__ explicit WarpAccumulator(WarpState& state_slot) : state(state_slot) {
    state = WarpState{};
    ClearSums();
    // NaN sends the first tile to the exact path.
    centre = 0;
    offset = 0;
    scale = NotANumber<Real>();
    low = Infinity<Real>();
    high = -Infinity<Real>();
  }

  //! 2t of values, in place. One rounding where `direct`.
  template <int kCount>
  __device__ __forceinline__ void Map(Real* x) const {
    if (direct) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = x[i] * scale + offset;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x[i] = sizeof(Real) == 8 ? (x[i] - centre) * scale : (x[i] - centre) * scale + offset;
      }
    }
  }

  __device__ __forceinline__ void ClearSums() {
#pragma unroll
    for (double& sum : sums) sum = 0;
  }

  //! float32 input: adds this lane's float64 terms.
  __device__ __forceinline__ void AddWide(const double (&terms)[L + 1]) {
    double slot[16] = {0};
#pragma unroll
    for (int k = 1; k <= L; ++k) slot[k] = terms[k];
    sums[1] += SumSlots(slot);
  }

  //! float32 input: takes away the terms of missing values, and adds what values near the bounds
  //! lost by rounding.
  __device__ __forceinline__ void Correct() {
    double terms[L + 1] = {0};
    AddChebyshevTerms<L, double>(0.0, terms);
#pragma unroll
    for (double& term : terms) term *= -missing_count;
    sums[0] -= missing_count;
    missing_count = 0;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
      // Derivatives of the terms at y = -2 and 2, as differences.
      constexpr double kStep = 0x1p-20;
      const double times = rounded[end] / (2 * kStep);
      double above[L + 1] = {0}, below[L + 1] = {0};
      AddChebyshevTerms<L, double>(4 * end - 2 + kStep, above);
      AddChebyshevTerms<L, double>(4 * end - 2 - kStep, below);
#pragma unroll
      for (int k = 1; k <= L; ++k) terms[k] += times * (above[k] - below[k]);
      rounded[end] = 0;
    }
    AddWide(terms);
  }

  //! Adds the lanes' sums to the warp's base and clears them.
  __device__ __forceinline__ void Join() {
    if constexpr (kIsFloat32) {
      const bool any = missing_count != 0 || rounded[0] != 0 || rounded[1] != 0;
      if (__any_sync(kFull, any)) Correct();
    }
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double joined = 0;
    if constexpr (kIsFloat32) {
      const double count = SumLanes(sums[0]);
      joined = FromLane(sums[1], lane < 16 ? 2 * lane : 0);
      joined = lane == 0 ? count : joined;
    } else {
      double slot[16] = {0};
#pragma unroll
      for (int k = 0; k <= L; ++k) slot[k] = sums[k];
      joined = FromLane(SumSlots(slot), lane < 16 ? 2 * lane : 0);
    }
    if (lane > L) joined = 0;
    ClearSums();
    const double recovered = RecoverByWarp<L>(joined);
    state.base += lane == 0 ? joined : recovered;
  }

  //! A term of an equidistributed sequence in [0, 1), of which each warp has another.
  static __device__ __forceinline__ double Turn(double irrational) {
    const double turn = (blockIdx.x * kStreamWarps + threadIdx.x / 32) * irrational;
    return turn - floor(turn);
  }

  //! Adopts wider bounds: the count of a new bound restarts, sums move to the wider interval.
  __device__ __forceinline__ void Widen(double new_low, double new_high) {
    Join();
    if (new_low < state.min) state.at_min = 0;
    if (new_high > state.max) state.at_max = 0;
    MoveTo(state, Adopt(new_low, new_high), L);
  }

  //! Sets bounds and the numbers of the fast path. @return the map that these define
  __device__ __forceinline__ ChebyshevMap Adopt(double new_low, double new_high) {
    state.min = new_low;
    state.max = new_high;
    low = static_cast<Real>(new_low);
    high = static_cast<Real>(new_high);
    ChebyshevMap map = ChebyshevMap::Of(new_low, new_high);
    // The map is defined by the rounded numbers of the fast path.
    const double exact_scale = 2 / map.half * (1 + kMapShrink);
    scale = static_cast<Real>(exact_scale);
    const bool usable = map.half > 0 && scale > 0 && scale < Infinity<Real>();
    direct = fabs(map.centre) < 16 * map.half;
    centre = direct ? Real(0) : static_cast<Real>(map.centre);
    double shift = (static_cast<double>(centre) - map.centre) * exact_scale;
    if constexpr (sizeof(Real) == 4) {
      // The maps of warps differ a little, so that a repeated value rounds differently in each and
      // the errors average out: by as much as kMapShrink allows.
      scale = static_cast<Real>(exact_scale * (1 - Turn(0.6180339887498949) * kMapShrink / 32));
      shift += (2 * Turn(0.7548776662466927) - 1) * 1.6 * kMapShrink;
    }
    offset = static_cast<Real>(shift);
    if (!usable) {
      map.half = 0;
    } else {
      const double wide_scale = static_cast<double>(scale);
      if (kIsFloat32 || direct) {
        map.centre = static_cast<double>(centre) - static_cast<double>(offset) / wide_scale;
      }
      map.half = 2 / wide_scale;
    }
    if (!usable) scale = NotANumber<Real>();
    return map;
  }

  //! Starts with the bounds of a sample of the stream.
  __device__ __forceinline__ void StartFrom(const double* samples) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double new_low = samples[2 * lane];
    double new_high = samples[2 * lane + 1];
    JoinBounds(new_low, new_high);
    if (new_low <= new_high) state.map = Adopt(new_low, new_high);
  }

  //! Widens the interval where some of `count` values, read by the whole warp, lie outside; says
  //! whether they do.
  __device__ __forceinline__ bool WidenFor(const Real* values, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Real least = low;
    Real most = high;
#pragma unroll 8
    for (int i = lane; i < count; i += 32) {
      const Real x = values[i];
      least = x < least ? x : least;
      most = x > most ? x : most;
    }
    double new_low = static_cast<double>(least);
    double new_high = static_cast<double>(most);
    JoinBounds(new_low, new_high);
    const bool outside = new_low < state.min || new_high > state.max;
    if (outside) Widen(new_low, new_high);
    return outside;
  }

  //! The exact path: `count` values, read by the whole warp, in float64.
  __device__ __forceinline__ void AddExactly(const Real* values, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    WidenFor(values, count);
    const double to_y = state.map.half > 0 ? 2 / state.map.half : 0;
    double terms[L + 1] = {0};
#pragma unroll 1
    for (int i = lane; i < count; i += 32) {
      const double x = static_cast<double>(values[i]);
      if (!(x == x)) continue;
      state.at_min += x == state.min ? 1 : 0;
      state.at_max += x == state.max ? 1 : 0;
      sums[0] += 1;
      AddChebyshevTerms<L, double>((x - state.map.centre) * to_y, kIsFloat32 ? terms : sums);
    }
    if constexpr (kIsFloat32) AddWide(terms);
  }

  //! float64 input, a tile with values near the bounds: counts those on a bound. False, and nothing
  //! is counted, if a value lies outside or is NaN.
  __device__ __forceinline__ bool CountOnBounds(const Real* tile) {
    constexpr int kWide = kWideValues<Real>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    bool outside = false;
    int count_low = 0;
    int count_high = 0;
#pragma unroll
    for (int i = 0; i < kLaneValues<Real>; i += kWide) {
      Real x[kWide];
      CopyWide(tile + i * 32 + lane * kWide, x);
#pragma unroll
      for (int j = 0; j < kWide; ++j) {
        outside = outside || !(x[j] >= low && x[j] <= high);
        count_low += x[j] == low ? 1 : 0;
        count_high += x[j] == high ? 1 : 0;
      }
    }
    if (__any_sync(kFull, outside)) return false;
    state.at_min += count_low;
    state.at_max += count_high;
    return true;
  }

  //! float64 input: adds a full tile from shared memory.
  __device__ __forceinline__ void AddTile(const Real* tile) {
    constexpr int kWide = kWideValues<Real>;
    constexpr int kValues = kLaneValues<Real>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Real y[kValues];
#pragma unroll
    for (int i = 0; i < kValues; i += kWide) CopyWide(tile + i * 32 + lane * kWide, y + i);
    Map<kValues>(y);
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < kValues; i += 2) any |= ExponentWord(y[i]) | ExponentWord(y[i + 1]);
    if (__any_sync(kFull, (any & kAtLeastTwo) != 0)) {
      if (!(state.map.half > 0) || !CountOnBounds(tile)) {
        __syncwarp();  // the exact path reads values of other lanes
        AddExactly(tile, 32 * kValues);
        __syncwarp();
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < kValues; ++i) AddChebyshevTerms<L, Real>(y[i], sums);
    sums[0] += kValues;
  }

  //! Moves all sums into `state`, counts into lane 0.
  __device__ __forceinline__ void Finish() {
    Join();
    state.at_min = SumLanes(state.at_min);
    state.at_max = SumLanes(state.at_max);
  }
};

}  // namespace
}  // namespace retable::quantiles
