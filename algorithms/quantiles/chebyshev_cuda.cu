//! @file
//! Chebyshev sums on a CUDA device (chebyshev_sums.hpp has the mathematics).
//!
//! Problem: one pass over device memory at its bandwidth, bounds unknown. On an H200 a float64
//! value may cost 31 double-precision instructions, a float32 value as many single-precision ones;
//! the sums of order 15 take 22. The bounds must cost next to nothing.
//!
//! Approach. A warp keeps an interval: the exact bounds of what it has seen. A lane loads a tile of
//! 16 values into registers, maps them to y = 2t, and takes the largest |y| with one
//! integer instruction a value: VIADDMNMX on the high word, shifted left by adding it to itself,
//! which drops the sign and makes NaN and infinity largest. One vote tells whether any of the
//! warp's values lies within 2^-18 of an end of the interval or beyond. If none does (nearly
//! always, for continuous data), the sums are taken at once, in registers. Otherwise the tile takes
//! the exact way: true bounds, counts of values at them, missing values; if the interval grew, the
//! lanes' sums are first joined by shuffles and moved to the wider interval by the whole warp, lane
//! j holding V_k[j]. Columns with much of their mass on an end take the exact way often, and run
//! slower.
//!
//! float32 input is summed in float32 over 64 values a lane, then added to float64 sums: the error
//! of a moment is a few 1e-9, as the rounding of 64 terms is random.
//!
//! Deterministic for a given device: the grid depends on the number of multiprocessors alone, and
//! all joins have a fixed order. Memory: one state a block.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "algorithms/quantiles/chebyshev_cuda.hpp"
#include "algorithms/quantiles/cuda_support.cuh"
#include "algorithms/quantiles/moment_accumulator.hpp"

namespace retable::quantiles {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kFull = 0xffffffffu;

//! Shorter float32 streams are summed in float64.
constexpr std::size_t kFloat32From = std::size_t{1} << 21;

//! Shorter streams find their bounds as they go.
constexpr std::size_t kSampleFrom = std::size_t{1} << 21;

//! Values of a tile per lane, and tiles between two flushes to float64.
template <class Real>
constexpr int kLaneValues = sizeof(Real) == 8 ? 16 : 32;
template <class Real>
constexpr int kFlushTiles = sizeof(Real) == 8 ? 1 : 2;

__device__ __forceinline__ double FromLane(double x, int lane) {
  return __shfl_sync(kFull, x, lane);
}

//! max(|y| as ordered bits without the sign, m).
__device__ __forceinline__ unsigned LargerMagnitude(double y, unsigned m) {
  const unsigned high = static_cast<unsigned>(__double2hiint(y));
  return __viaddmax_u32(high, high, m);
}
__device__ __forceinline__ unsigned LargerMagnitude(float y, unsigned m) {
  const unsigned bits = __float_as_uint(y);
  return __viaddmax_u32(bits, bits, m);
}
//! The same for |y| = 2 - 2^-17.
template <class Real>
constexpr unsigned kNearEnd = sizeof(Real) == 8 ? 0x7FFFFFF0u : 0x7FFFFF80u;

//! A warp's state between tiles. Lane k holds sums of T_k in `base`, k = 0..L; the rest is equal in
//! all lanes but the counts, which are each lane's own.
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

//! Joins two warps' states; counts must be summed over lanes before (lane 0 holds them all).
__device__ __forceinline__ void Merge(WarpState& state, WarpState other, int order) {
  if (FromLane(other.base, 0) == 0) return;
  if (FromLane(state.base, 0) == 0) {
    state = other;
    return;
  }
  const double low = other.min < state.min ? other.min : state.min;
  const double high = other.max > state.max ? other.max : state.max;
  state.at_min = (state.min == low ? state.at_min : 0) + (other.min == low ? other.at_min : 0);
  state.at_max = (state.max == high ? state.at_max : 0) + (other.max == high ? other.at_max : 0);
  state.min = low;
  state.max = high;
  const ChebyshevMap joint = ChebyshevMap::Of(low, high);
  MoveTo(state, joint, order);
  MoveTo(other, joint, order);
  state.base += other.base;
}

//! Stores a state by the whole warp, and loads it.
__device__ __forceinline__ void Store(const WarpState& state, ChebyshevSums* out, int order) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane <= order) out->sum[lane] = state.base;
  if (lane == 0) {
    out->map = state.map;
    out->min = state.min;
    out->max = state.max;
    out->at_min = state.at_min;
    out->at_max = state.at_max;
  }
}
__device__ __forceinline__ WarpState Load(const ChebyshevSums* in, int order) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  WarpState state;
  state.base = lane <= order ? in->sum[lane] : 0;
  state.map = in->map;
  state.min = in->min;
  state.max = in->max;
  state.at_min = lane == 0 ? in->at_min : 0;
  state.at_max = lane == 0 ? in->at_max : 0;
  return state;
}

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

//! A warp at work on its tiles.
template <class Real, int L>
struct Worker {
  static constexpr bool kNarrow = sizeof(Real) == 4;

  WarpState& state;  //!< in shared memory, as it is seldom needed
  double* wide;      //!< float32 input: this lane's sums, in shared memory, kThreads apart
  double
      sums[kNarrow ? 1 : L + 1];  //!< [0] counts values; float64 input: terms since the last join
  Real part[L + 1];               //!< float32 input: terms since the last flush
  bool direct = false;  //!< y = x * scale + offset: the centre is within 16 half ranges of zero
  Real centre;          //!< else y = (x - centre) * scale, + offset for float32 input
  Real scale;
  Real offset;
  Real low;  //!< state.min and max
  Real high;
  // float32 input: values on the ends since the last join, whose terms are still to be added.
  int ends_low = 0;
  int ends_high = 0;

  //! The lane's sum of order k since the last join.
  __device__ __forceinline__ double& Sum(int k) {
    if constexpr (kNarrow) {
      return k == 0 ? sums[0] : wide[k * kThreads];
    } else {
      return sums[k];
    }
  }

  __device__ __forceinline__ Worker(WarpState& state_slot, double* wide_slot)
      : state(state_slot), wide(wide_slot) {
    state = WarpState{};
#pragma unroll
    for (int k = 0; k <= L; ++k) Sum(k) = 0;
    ClearPart();
    // NaN sends the first tile the exact way.
    centre = 0;
    offset = 0;
    scale = Infinity<Real>() - Infinity<Real>();
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

  __device__ __forceinline__ void ClearPart() {
#pragma unroll
    for (int k = 0; k <= L; ++k) part[k] = 0;
  }

  //! Where the fast way adds terms: the float64 sums at once, or float32 parts.
  __device__ __forceinline__ Real* Terms() {
    if constexpr (sizeof(Real) == 8) {
      return sums;
    } else {
      return part;
    }
  }

  __device__ __forceinline__ void Flush() {
    if constexpr (sizeof(Real) == 4) {
#pragma unroll
      for (int k = 1; k <= L; ++k) Sum(k) += static_cast<double>(part[k]);
      ClearPart();
    }
  }

  //! float32 input: the terms of the values on the ends, in float64.
  __device__ __forceinline__ void AddEnds() {
    if (!(state.map.half > 0)) return;  // and no tile went the fast way
    const double to_y = 2 / state.map.half;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
      const double x = end == 0 ? state.min : state.max;
      const double times = end == 0 ? ends_low : ends_high;
      double terms[L + 1] = {0};
      AddChebyshevTerms<L, double>((x - state.map.centre) * to_y, terms);
#pragma unroll
      for (int k = 1; k <= L; ++k) Sum(k) += times * terms[k];
    }
    ends_low = 0;
    ends_high = 0;
  }

  //! Adds the lanes' sums to the warp's base and clears them.
  __device__ __forceinline__ void Join() {
    Flush();
    if constexpr (sizeof(Real) == 4) AddEnds();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double joined = 0;
#pragma unroll
    for (int k = 0; k <= L; ++k) {
      double total = Sum(k);
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        total += __shfl_xor_sync(kFull, total, step);
      }
      joined = lane == k ? total : joined;
      Sum(k) = 0;
    }
    // RecoverSums across lanes: S_{m+j} = P_{m,j} - S_{m-j} for m = 4, 8, 12 in turn.
#pragma unroll
    for (int m = 4; m <= L; m += 4) {
      const int mirror = 2 * m - lane;
      const double taken = FromLane(joined, mirror < 0 ? 0 : mirror);
      if (lane > m && lane < m + 4) joined -= taken;
    }
    state.base += lane == 0 ? joined : 0.5 * joined;
  }

  //! float32 input: every warp's map differs in its last bits, by terms of two equidistributed
  //! sequences, so that the rounding of a value that repeats differs between warps and averages
  //! out. Half of what kNearEnd allows for.
  static __device__ __forceinline__ double Jitter(double irrational) {
    const double turn = (blockIdx.x * kWarps + threadIdx.x / 32) * irrational;
    return (turn - floor(turn)) * 0x1p-19;
  }

  //! Adopts exact bounds: counts restart at a new end, sums move to the wider interval.
  __device__ __forceinline__ void Widen(double new_low, double new_high) {
    Join();
    if (new_low < state.min) state.at_min = 0;
    if (new_high > state.max) state.at_max = 0;
    state.min = new_low;
    state.max = new_high;
    low = static_cast<Real>(new_low);
    high = static_cast<Real>(new_high);
    ChebyshevMap map = ChebyshevMap::Of(new_low, new_high);
    // The map is what the rounded numbers of the fast way say.
    const double exact_scale = 2 / map.half;
    scale = static_cast<Real>(exact_scale);
    const bool usable = map.half > 0 && scale > 0 && scale < Infinity<Real>();
    direct = fabs(map.centre) < 16 * map.half;
    centre = direct ? Real(0) : static_cast<Real>(map.centre);
    double shift = (static_cast<double>(centre) - map.centre) * exact_scale;
    if constexpr (sizeof(Real) == 4) {
      scale = static_cast<Real>(exact_scale * (1 - Jitter(0.6180339887498949)));
      shift += Jitter(0.7548776662466927) - 0x1p-20;
    }
    offset = static_cast<Real>(shift);
    if (!usable) {
      map.half = 0;
    } else if (sizeof(Real) == 4 || direct) {
      const double wide_scale = static_cast<double>(scale);
      map.centre = static_cast<double>(centre) - static_cast<double>(offset) / wide_scale;
      map.half = 2 / wide_scale;
    }
    if (!usable) scale = Infinity<Real>() - Infinity<Real>();
    MoveTo(state, map, L);
  }

  //! Starts with the bounds of a sample, which are values of the stream.
  __device__ __forceinline__ void StartFrom(const double* samples) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double new_low = samples[2 * lane];
    double new_high = samples[2 * lane + 1];
    JoinBounds(new_low, new_high);
    if (new_low <= new_high) Widen(new_low, new_high);
  }

  //! The least and the largest over a warp's lanes.
  static __device__ __forceinline__ void JoinBounds(double& least, double& most) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const double other_least = __shfl_xor_sync(kFull, least, step);
      const double other_most = __shfl_xor_sync(kFull, most, step);
      least = other_least < least ? other_least : least;
      most = other_most > most ? other_most : most;
    }
  }

  //! The exact way for `count` values, a warp's neighbours side by side, all in float64.
  __device__ __forceinline__ void AddExactly(const Real* values, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double new_low = state.min;
    double new_high = state.max;
#pragma unroll 1
    for (int i = lane; i < count; i += 32) {
      const double x = static_cast<double>(values[i]);
      new_low = x < new_low ? x : new_low;
      new_high = x > new_high ? x : new_high;
    }
    JoinBounds(new_low, new_high);
    if (new_low < state.min || new_high > state.max) Widen(new_low, new_high);
    const double to_y = state.map.half > 0 ? 2 / state.map.half : 0;
    double terms[L + 1] = {0};
#pragma unroll 1
    for (int i = lane; i < count; i += 32) {
      const double x = static_cast<double>(values[i]);
      if (!(x == x)) continue;
      state.at_min += x == state.min ? 1 : 0;
      state.at_max += x == state.max ? 1 : 0;
      sums[0] += 1;
      AddChebyshevTerms<L, double>((x - state.map.centre) * to_y, kNarrow ? terms : sums);
    }
    if constexpr (kNarrow) {
#pragma unroll
      for (int k = 1; k <= L; ++k) Sum(k) += terms[k];
    }
  }

  //! A tile with values close to the ends: counts those on them, and marks in `skip` which of this
  //! lane's values have their terms added from the count. False if one lies outside or is missing,
  //! and nothing was done.
  __device__ __forceinline__ bool CountEnds(const Real* tile, unsigned& skip) {
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
        if (sizeof(Real) == 4 && (x[j] == low || x[j] == high)) skip |= 1u << (i + j);
      }
    }
    if (__any_sync(kFull, outside)) return false;
    state.at_min += count_low;
    state.at_max += count_high;
    if constexpr (sizeof(Real) == 4) {
      ends_low += count_low;
      ends_high += count_high;
    }
    return true;
  }

  //! One full tile, in shared memory.
  __device__ __forceinline__ void AddTile(const Real* tile) {
    constexpr int kWide = kWideValues<Real>;
    constexpr int kValues = kLaneValues<Real>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    Real y[kValues];
#pragma unroll
    for (int i = 0; i < kValues; i += kWide) CopyWide(tile + i * 32 + lane * kWide, y + i);
    Map<kValues>(y);
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < kValues; ++i) largest = LargerMagnitude(y[i], largest);
    unsigned skip = 0;
    if (__any_sync(kFull, largest >= kNearEnd<Real>)) {
      if (!(state.map.half > 0) || !CountEnds(tile, skip)) {
        __syncwarp();  // the exact way reads other lanes' values
        AddExactly(tile, 32 * kValues);
        __syncwarp();
        return;
      }
    }
    if (kNarrow && __any_sync(kFull, skip != 0)) {
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        if ((skip >> i & 1) == 0) AddChebyshevTerms<L, Real>(y[i], Terms());
      }
    } else {
#pragma unroll
      for (int i = 0; i < kValues; ++i) AddChebyshevTerms<L, Real>(y[i], Terms());
    }
    sums[0] += kValues;
  }

  //! Everything into `state`, counts in lane 0.
  __device__ __forceinline__ void Finish() {
    Join();
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      state.at_min += __shfl_xor_sync(kFull, state.at_min, step);
      state.at_max += __shfl_xor_sync(kFull, state.at_max, step);
    }
  }
};

//! Joins a block's warps' states in a tree; warp 0 has the result. `states` is shared memory.
__device__ __forceinline__ WarpState JoinBlock(WarpState state, ChebyshevSums* states, int order) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Store(state, states + warp, order);
  __syncthreads();
#pragma unroll 1
  for (int stride = static_cast<int>(blockDim.x) / 64; stride > 0; stride /= 2) {
    if (warp < stride) {
      Merge(state, Load(states + warp + stride, order), order);
      Store(state, states + warp, order);
    }
    __syncthreads();
  }
  return state;
}

constexpr int kSampleBlocks = 32;
constexpr int kSampleThreads = 256;

//! Bounds of evenly spread runs of values, NaN skipped: samples[2 block] and [2 block + 1].
template <class Real>
__global__ void __launch_bounds__(kSampleThreads)
    SampleKernel(const Real* values, std::size_t n, double* samples) {
  constexpr int kRuns = 64;  // of kSampleThreads values, per block
  const std::size_t spacing = n / (kRuns * kSampleBlocks);
  double low = Infinity<double>();
  double high = -Infinity<double>();
#pragma unroll 8
  for (int run = 0; run < kRuns; ++run) {
    const std::size_t first = (std::size_t{blockIdx.x} * kRuns + run) * spacing;
    const double x = static_cast<double>(values[first + threadIdx.x]);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  __shared__ double lows[kSampleThreads];
  __shared__ double highs[kSampleThreads];
  lows[threadIdx.x] = low;
  highs[threadIdx.x] = high;
  __syncthreads();
  for (int step = kSampleThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      const double other_low = lows[threadIdx.x + step];
      const double other_high = highs[threadIdx.x + step];
      if (other_low < lows[threadIdx.x]) lows[threadIdx.x] = other_low;
      if (other_high > highs[threadIdx.x]) highs[threadIdx.x] = other_high;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    samples[2 * blockIdx.x] = lows[0];
    samples[2 * blockIdx.x + 1] = highs[0];
  }
}

//! Tiles of a warp's ring: one being summed, the others on their way.
template <class Real>
constexpr int kStages = sizeof(Real) == 8 ? 3 : 2;
template <class Real>
constexpr std::size_t kRingBytes = sizeof(Real) * kWarps* kStages<Real> * 32 * kLaneValues<Real>;
//! The rings, a state for each thread, and for float32 input its sums.
template <class Real, int L>
constexpr std::size_t kSharedBytes = kRingBytes<Real> + kThreads * sizeof(WarpState) +
                                     (sizeof(Real) == 4 ? (L + 1) * kThreads * sizeof(double) : 0);

template <class Real, int L>
__global__ void __launch_bounds__(kThreads, 2)
    ChebyshevKernel(const Real* values, std::size_t n, const double* samples,
                    ChebyshevSums* blocks) {
  constexpr int kTile = 32 * kLaneValues<Real>;
  constexpr int kSlots = kStages<Real>;
  extern __shared__ float4 ring_memory[];
  __shared__ ChebyshevSums states[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kTile;
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kWarps;
  auto* const ring_bytes = reinterpret_cast<std::byte*>(ring_memory);
  auto* const warp_states = reinterpret_cast<WarpState*>(ring_bytes + kRingBytes<Real>);
  auto* const wide = reinterpret_cast<double*>(warp_states + kThreads);
  Worker<Real, L> worker(warp_states[threadIdx.x], wide + threadIdx.x);
  if (samples != nullptr) worker.StartFrom(samples);
  if (warp == warps - 1) {
    // What no tile holds.
    worker.AddExactly(values, static_cast<int>(head));
    worker.AddExactly(aligned + tiles * kTile, static_cast<int>(n - head - tiles * kTile));
  }
  if (sizeof(Real) == 4 && n < kFloat32From) {
#pragma unroll 1
    for (std::size_t t = warp; t < tiles; t += warps) worker.AddExactly(aligned + t * kTile, kTile);
  } else {
    Real* ring = reinterpret_cast<Real*>(ring_memory) + threadIdx.x / 32 * kSlots * kTile;
    const auto fetch = [&](std::size_t t, int slot) {
      if (t < tiles) {
        constexpr int kWide = kWideValues<Real>;
#pragma unroll
        for (int i = 0; i < kTile; i += 32 * kWide) {
          __pipeline_memcpy_async(ring + slot * kTile + i + lane * kWide,
                                  aligned + t * kTile + i + lane * kWide, 16);
        }
      }
      __pipeline_commit();
    };
#pragma unroll
    for (int slot = 0; slot < kSlots - 1; ++slot) fetch(warp + slot * warps, slot);
    int slot = 0;
    int since_flush = 0;
#pragma unroll 1
    for (std::size_t t = warp; t < tiles; t += warps) {
      fetch(t + (kSlots - 1) * warps, slot == 0 ? kSlots - 1 : slot - 1);
      __pipeline_wait_prior(kSlots - 1);
      worker.AddTile(ring + slot * kTile);
      if (++since_flush == kFlushTiles<Real>) {
        worker.Flush();
        since_flush = 0;
      }
      slot = slot == kSlots - 1 ? 0 : slot + 1;
    }
  }
  worker.Finish();
  const WarpState state = JoinBlock(worker.state, states, L);
  if (threadIdx.x < 32) Store(state, blocks + blockIdx.x, L);
}

constexpr int kJoinThreads = 1024;

//! One block joins the blocks' states into blocks[0].
__global__ void __launch_bounds__(kJoinThreads)
    JoinKernel(ChebyshevSums* blocks, int count, int order) {
  __shared__ ChebyshevSums states[kJoinThreads / 32];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  WarpState state;
#pragma unroll 1
  for (int i = warp; i < count; i += kJoinThreads / 32)
    Merge(state, Load(blocks + i, order), order);
  state = JoinBlock(state, states, order);
  if (warp == 0) Store(state, blocks, order);
}

}  // namespace

struct ChebyshevCuda::Memory {
  int blocks;
  DeviceArray<ChebyshevSums> partial;
  DeviceArray<double> samples;
};

ChebyshevCuda::ChebyshevCuda(int order) : order_(CheckOrder(order)) {
  const int blocks = 2 * MultiprocessorCount();
  memory_ = std::make_unique<Memory>(
      Memory{blocks, DeviceArray<ChebyshevSums>(static_cast<std::size_t>(blocks)),
             DeviceArray<double>(2 * kSampleBlocks)});
}

ChebyshevCuda::~ChebyshevCuda() = default;

template <class Real>
void ChebyshevCuda::Launch(const Real* values, std::size_t n, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  constexpr std::size_t kBlockTile = std::size_t{kThreads} * kLaneValues<Real>;
  const std::size_t useful = n / kBlockTile + 1;
  const int blocks = useful < static_cast<std::size_t>(memory_->blocks) ? static_cast<int>(useful)
                                                                        : memory_->blocks;
  DispatchCompiledOrder(order_, [&](auto order) {
    const bool sampled = n >= kSampleFrom;
    if (sampled) {
      SampleKernel<<<kSampleBlocks, kSampleThreads, 0, cuda_stream>>>(values, n,
                                                                      memory_->samples.data());
    }
    const auto kernel = ChebyshevKernel<Real, decltype(order)::value>;
    constexpr std::size_t kShared = kSharedBytes<Real, decltype(order)::value>;
    CheckCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(kShared)),
              "cudaFuncSetAttribute");
    kernel<<<blocks, kThreads, kShared, cuda_stream>>>(
        values, n, sampled ? memory_->samples.data() : nullptr, memory_->partial.data());
    JoinKernel<<<1, kJoinThreads, 0, cuda_stream>>>(memory_->partial.data(), blocks,
                                                    decltype(order)::value);
  });
  CheckCuda(cudaGetLastError(), "Chebyshev kernels");
}

ChebyshevSums ChebyshevCuda::Fetch(void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  ChebyshevSums sums;
  CheckCuda(cudaMemcpyAsync(&sums, memory_->partial.data(), sizeof sums, cudaMemcpyDeviceToHost,
                            cuda_stream),
            "cudaMemcpyAsync of Chebyshev sums");
  CheckCuda(cudaStreamSynchronize(cuda_stream), "Chebyshev kernels");
  return sums;
}

void ChebyshevCuda::Enqueue(const float* values, std::size_t n, void* stream) {
  Launch(values, n, stream);
}
void ChebyshevCuda::Enqueue(const double* values, std::size_t n, void* stream) {
  Launch(values, n, stream);
}
template <class Real>
ChebyshevSums ChebyshevCuda::SumPieces(std::span<const Real> values) {
  ChebyshevSums total;
  FeedThroughDevice(values, [&](const Real* piece, std::size_t n) {
    ChebyshevSums sums = Sum(piece, n, nullptr);
    total.Merge(sums, order_);
  });
  return total;
}

ChebyshevSums ChebyshevCuda::SumHost(std::span<const float> values) {
  return SumPieces(values);
}
ChebyshevSums ChebyshevCuda::SumHost(std::span<const double> values) {
  return SumPieces(values);
}

ChebyshevSums ChebyshevCuda::Sum(const float* values, std::size_t n, void* stream) {
  if (n == 0) return {};
  Launch(values, n, stream);
  return Fetch(stream);
}
ChebyshevSums ChebyshevCuda::Sum(const double* values, std::size_t n, void* stream) {
  if (n == 0) return {};
  Launch(values, n, stream);
  return Fetch(stream);
}

}  // namespace retable::quantiles
