//! @file
//! Chebyshev sums on a CUDA device (chebyshev_sums.hpp has the mathematics).
//!
//! Problem: one pass over device memory at its bandwidth, bounds unknown. On an H200 a float64
//! value may cost 31 double-precision instructions, a float32 value as many single-precision ones;
//! the sums of order 15 take 22. The bounds must cost next to nothing.
//!
//! Approach. A warp keeps an interval: the exact bounds of what it has seen. A lane loads a tile of
//! 16 or 32 values into registers, maps them to y = 2t, and tests all for |y| >= 2 with half an
//! integer instruction a value (ExponentWord); the map is a little narrower than the interval, so
//! that this finds the ends too. One vote tells whether any of the warp's values lies close to an
//! end or beyond. If none does (nearly
//! always, for continuous data), the sums are taken at once, in registers. Otherwise the tile takes
//! the exact way: true bounds, counts of values at them, missing values; if the interval grew, the
//! lanes' sums are first joined by shuffles and moved to the wider interval by the whole warp, lane
//! j holding V_k[j]. Columns with much of their mass on an end take the exact way often, and run
//! slower.
//!
//! float32 input is summed in float32 over 128 values a lane, then over the warp, then added to
//! float64 sums: the error of a moment is a few 1e-9, as the rounding of the terms is random.
//!
//! Deterministic for a given device: the grid depends on the number of multiprocessors alone, and
//! all joins have a fixed order. Memory: one state a block.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include "algorithms/quantiles/cuda/stream_sums.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/histogram.cuh"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

//! Shorter float32 streams are summed in float64.
constexpr std::size_t kFloat32From = std::size_t{1} << 21;

//! Shorter streams find their bounds as they go, and are not counted.
constexpr std::size_t kSampleFrom = std::size_t{1} << 21;

//! Values of a lane's tile where columns of few values are counted.
template <class Real>
constexpr int kCountValues = sizeof(Real) == 8 ? 8 : 32;

//! Values of a tile per lane, and tiles between two flushes to float64.
template <class Real>
constexpr int kLaneValues = sizeof(Real) == 8 ? 16 : 32;
template <class Real>
constexpr int kFlushTiles = sizeof(Real) == 8 ? 1 : 4;

//! The word of y that holds its exponent. Its bit 30 is set just if |y| >= 2 or y is no number, so
//! that one three-way OR tests two values.
__device__ __forceinline__ unsigned ExponentWord(double y) {
  return static_cast<unsigned>(__double2hiint(y));
}
__device__ __forceinline__ unsigned ExponentWord(float y) {
  return __float_as_uint(y);
}
constexpr unsigned kAtLeastTwo = 1u << 30;
//! The map is made narrower by this, so that values on an end have |y| > 2 whatever the rounding.
constexpr double kNarrower = 0x1p-17;

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

//! float32 input: a value on an end has its terms added from a count, in float64; in its place in
//! the float32 sums stands one of the 8 Chebyshev nodes, by turns, whose terms cancel over a round
//! and are taken off again from a count. (A constant in its place makes large sums, which round
//! more: 2e-8.)
constexpr int kStandIns = 8;
__device__ __forceinline__ constexpr float StandIn(int i) {
  constexpr float kNodes[kStandIns] = {1.96157056f,   1.66293922f,  1.11114047f,  0.390180644f,
                                       -0.390180644f, -1.11114047f, -1.66293922f, -1.96157056f};
  return kNodes[i];
}

//! Adds `times` the terms that AddChebyshevTerms<L, float> adds for y, with its roundings of the
//! factors and none of the sums.
template <int L>
__device__ __forceinline__ void AddRoundedTerms(float y, double times, double (&s)[L + 1]) {
  float c[13];
  c[1] = y;
  c[2] = __fmaf_rn(y, y, -2.0f);
  c[3] = __fmaf_rn(y, c[2], -y);
  c[4] = __fmaf_rn(c[2], c[2], -2.0f);
  c[8] = __fmaf_rn(c[4], c[4], -2.0f);
  c[12] = __fmaf_rn(c[8], c[4], -c[4]);
#pragma unroll
  for (int k = 1; k <= L; ++k) {
    const int m = k & ~3;
    const double term = k <= 4 || k == m
                            ? static_cast<double>(c[k <= 4 ? k : m])
                            : static_cast<double>(c[m]) * static_cast<double>(c[k - m]);
    s[k] += times * term;
  }
}

//! AddChebyshevTerms for two values; for the highest order, in an order that suits the registers.
template <int L>
__device__ __forceinline__ void AddPair(float y, float z, float* s) {
  if constexpr (L < kMaxOrder) {
    AddChebyshevTerms<L, float>(y, s);
    AddChebyshevTerms<L, float>(z, s);
  } else {
    const float a[2] = {y, z};
    float c2[2], c3[2], c4[2], c8[2], c12[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) c2[i] = __fmaf_rn(a[i], a[i], -2.0f);
#pragma unroll
    for (int i = 0; i < 2; ++i) c4[i] = __fmaf_rn(c2[i], c2[i], -2.0f);
#pragma unroll
    for (int i = 0; i < 2; ++i) c3[i] = __fmaf_rn(a[i], c2[i], -a[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) c8[i] = __fmaf_rn(c4[i], c4[i], -2.0f);
#pragma unroll
    for (int i = 0; i < 2; ++i) c12[i] = __fmaf_rn(c8[i], c4[i], -c4[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      s[5] = __fmaf_rn(c4[i], a[i], s[5]);
      s[6] = __fmaf_rn(c4[i], c2[i], s[6]);
      s[10] = __fmaf_rn(c8[i], c2[i], s[10]);
      s[9] = __fmaf_rn(c8[i], a[i], s[9]);
      s[13] = __fmaf_rn(c12[i], a[i], s[13]);
      s[14] = __fmaf_rn(c12[i], c2[i], s[14]);
      s[15] = __fmaf_rn(c12[i], c3[i], s[15]);
      s[11] = __fmaf_rn(c8[i], c3[i], s[11]);
      s[7] = __fmaf_rn(c4[i], c3[i], s[7]);
    }
    s[1] += a[0] + a[1];
    s[2] += c2[0] + c2[1];
    s[3] += c3[0] + c3[1];
    s[4] += c4[0] + c4[1];
    s[8] += c8[0] + c8[1];
    s[12] += c12[0] + c12[1];
  }
}

//! A warp at work on its tiles.
template <class Real, int L>
struct Worker {
  static constexpr bool kNarrow = sizeof(Real) == 4;

  WarpState& state;  //!< in shared memory, as it is seldom needed
  //! [0] counts this lane's values; float64 input: its terms since the last join; float32 input:
  //! [1] is the warp's terms of order lane / 2 since the last join.
  double sums[kNarrow ? 2 : L + 1];
  bool direct = false;  //!< y = x * scale + offset: the centre is within 16 half ranges of zero
  Real centre;          //!< else y = (x - centre) * scale, + offset for float32 input
  Real scale;
  Real offset;
  Real low;  //!< state.min and max
  Real high;
  // float32 input: values on the ends, and such as are the commonest of the stream, since the last
  // join, whose terms are still to be added, and how often each stand-in took their place.
  int ends_low = 0;
  int ends_high = 0;
  int commons = 0;
  Real common;  //!< NaN where no value repeats much
  int stood_in[kStandIns] = {0};

  __device__ __forceinline__ explicit Worker(WarpState& state_slot) : state(state_slot) {
    state = WarpState{};
    ClearSums();
    // NaN sends the first tile the exact way.
    centre = 0;
    offset = 0;
    scale = Infinity<Real>() - Infinity<Real>();
    low = Infinity<Real>();
    high = -Infinity<Real>();
    common = scale;
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

  //! float32 input: the terms of the values on the ends, in float64.
  __device__ __forceinline__ void AddEnds() {
    if (!(state.map.half > 0)) return;  // and no tile went the fast way
    const double to_y = 2 / state.map.half;
#pragma unroll 1
    for (int kind = 0; kind < 3; ++kind) {
      const double times = kind == 0 ? ends_low : kind == 1 ? ends_high : commons;
      const double value = kind == 0   ? state.min
                           : kind == 1 ? state.max
                                       : static_cast<double>(common);
      const double x = times > 0 ? value : state.map.centre;
      double terms[L + 1] = {0};
      AddChebyshevTerms<L, double>((x - state.map.centre) * to_y, terms);
#pragma unroll
      for (double& term : terms) term *= times;
      AddWide(terms);
    }
    double taken[L + 1] = {0};
#pragma unroll 1
    for (int i = 0; i < kStandIns; ++i) {
      if (stood_in[i] != 0) AddRoundedTerms<L>(StandIn(i), -stood_in[i], taken);
      stood_in[i] = 0;
    }
    AddWide(taken);
    ends_low = 0;
    ends_high = 0;
    commons = 0;
  }

  //! Adds the lanes' sums to the warp's base and clears them.
  __device__ __forceinline__ void Join() {
    if constexpr (kNarrow) AddEnds();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    double joined = 0;
    if constexpr (kNarrow) {
      double count = sums[0];
#pragma unroll
      for (int step = 16; step > 0; step /= 2) count += __shfl_xor_sync(kFull, count, step);
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
  //! out. A quarter of kNarrower at most.
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
    const double exact_scale = 2 / map.half * (1 + kNarrower);
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
    } else {
      const double wide_scale = static_cast<double>(scale);
      if (kNarrow || direct) {
        map.centre = static_cast<double>(centre) - static_cast<double>(offset) / wide_scale;
      }
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
    if constexpr (kNarrow) AddWide(terms);
  }

  //! float64 input, a tile with values close to the ends: counts those on them. False if one lies
  //! outside or is missing, and nothing was done.
  __device__ __forceinline__ bool CountEnds(const Real* tile) {
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

  //! float64 input: one full tile, in shared memory.
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
      if (!(state.map.half > 0) || !CountEnds(tile)) {
        __syncwarp();  // the exact way reads other lanes' values
        AddExactly(tile, 32 * kValues);
        __syncwarp();
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < kValues; ++i) AddChebyshevTerms<L, Real>(y[i], sums);
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

//! float32 input: the hot half of a warp at work. It holds in registers what every tile needs; the
//! rest, a Worker, lies in local memory, behind calls that are not inlined.
//!
//! What bounds it is neither the issue slots (26 instructions a value, 69 % of the cycles) nor
//! memory but the register file: an instruction with three operands in registers takes two cycles
//! unless one is kept from the instruction before. Hence pairs of values, and products in an order
//! in which neighbours share a factor.
template <int L>
class NarrowSums {
 public:
  __device__ __forceinline__ explicit NarrowSums(Worker<float, L>* worker) : worker_(worker) {
    Clear();
    Reload();
  }

  //! One full tile, in shared memory.
  __device__ __forceinline__ void AddTile(const float* tile) {
    // A column with mass on an end has it in every tile.
    bool done = !ends_ && (direct_ ? Try<true, false>(tile) : Try<false, false>(tile));
    if (!done && half_ > 0) done = direct_ ? Try<true, true>(tile) : Try<false, true>(tile);
    if (!done) {
      Flush();
      __syncwarp();  // the exact way reads other lanes' values
      AddExactly(worker_, tile);
      __syncwarp();
      Reload();
    } else if (ends_ || tiles_ == kFlushTiles<float>) {
      // Columns with mass on an end repeat other values too, and these round alike.
      Flush();
    }
  }

  __device__ __forceinline__ void Flush() {
    worker_->sums[0] += tiles_ * kValues;
    worker_->sums[1] += static_cast<double>(SumSlots(sum_));
    Clear();
  }

 private:
  static constexpr int kValues = kLaneValues<float>;

  //! A lane's values of a tile that are on an end or the commonest.
  struct Ends {
    int low = 0;
    int common = 0;
    int any[kStandIns] = {0};
  };

  static __device__ __noinline__ void AddExactly(Worker<float, L>* worker, const float* tile) {
    worker->AddExactly(tile, 32 * kValues);
  }

  //! Adds a tile if all of its values lie well inside of the interval (`kEnds`: or on an end, and
  //! the commonest value is counted too).
  template <bool kDirect, bool kEnds>
  __device__ __forceinline__ bool Try(const float* tile) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float y[kValues];
    Ends ends;
#pragma unroll
    for (int i = 0; i < kValues; i += 4) CopyWide(tile + i * 32 + lane * 4, y + i);
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      const float x = y[i];
      y[i] = kDirect ? x * scale_ + offset_ : (x - centre_) * scale_ + offset_;
      if constexpr (kEnds) {
        const bool end = x == low_ || x == high_ || x == common_;
        ends.low += x == low_ ? 1 : 0;
        ends.common += x == common_ ? 1 : 0;
        ends.any[i % kStandIns] += end ? 1 : 0;
        y[i] = end ? StandIn(i % kStandIns) : y[i];
      }
    }
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < kValues; i += 2) any |= ExponentWord(y[i]) | ExponentWord(y[i + 1]);
    if (__any_sync(kFull, (any & kAtLeastTwo) != 0)) return false;
#pragma unroll
    for (int i = 0; i < kValues; i += 2) AddPair<L>(y[i], y[i + 1], sum_);
    ++tiles_;
    if constexpr (kEnds) ends_ = Count(ends);
    return true;
  }

  //! Keeps count of a tile's ends; whether the next tile is to be looked at for these at once.
  __device__ __forceinline__ bool Count(const Ends& ends) {
    int all = 0;
#pragma unroll
    for (int j = 0; j < kStandIns; ++j) {
      worker_->stood_in[j] += ends.any[j];
      all += ends.any[j];
    }
    const int high = all - ends.low - ends.common;
    worker_->ends_low += ends.low;
    worker_->ends_high += high;
    worker_->commons += ends.common;
    worker_->state.at_min += ends.low;
    worker_->state.at_max += high;
    return common_ == common_ || __any_sync(kFull, all != 0);
  }

  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (float& sum : sum_) sum = 0;
    tiles_ = 0;
  }
  __device__ __forceinline__ void Reload() {
    direct_ = worker_->direct;
    centre_ = worker_->centre;
    scale_ = worker_->scale;
    offset_ = worker_->offset;
    low_ = worker_->low;
    high_ = worker_->high;
    // On an end it is that end's.
    common_ = worker_->common == low_ || worker_->common == high_
                  ? Infinity<float>() - Infinity<float>()
                  : worker_->common;
    half_ = static_cast<float>(worker_->state.map.half);
    ends_ = ends_ || common_ == common_;
  }

  Worker<float, L>* worker_;
  float sum_[16];
  int tiles_;  //!< since the last flush
  bool ends_ = false;
  bool direct_;
  float centre_;
  float scale_;
  float offset_;
  float low_;
  float high_;
  float common_;
  float half_;
};

template <int L>
__device__ __noinline__ void StartCold(Worker<float, L>* worker, const double* samples) {
  worker->StartFrom(samples);
}
template <int L>
__device__ __noinline__ void AddExactlyCold(Worker<float, L>* worker, const float* values,
                                            int count) {
  worker->AddExactly(values, count);
}
template <int L>
__device__ __noinline__ void FinishCold(Worker<float, L>* worker) {
  worker->Finish();
}

//! Tiles of a warp's ring: one being summed, the others on their way.
template <class Real>
constexpr int kStages = sizeof(Real) == 8 ? 3 : 2;
template <class Real>
constexpr std::size_t kRingBytes = sizeof(Real) * kWarps* kStages<Real> * 32 * kLaneValues<Real>;
//! The rings, and for float64 input a state for each thread.
template <class Real>
constexpr std::size_t kSharedBytes = kRingBytes<Real> +
                                     (sizeof(Real) == 8 ? kThreads * sizeof(WarpState) : 0);
constexpr int kBlocksPerMultiprocessor = 2;

//! Sums the tiles of a warp, which come through its ring in shared memory.
template <class Real, class AddTile>
__device__ __forceinline__ void StreamTiles(const Real* aligned, std::size_t tiles, Real* ring,
                                            const AddTile& add_tile) {
  constexpr int kTile = 32 * kLaneValues<Real>;
  constexpr int kSlots = kStages<Real>;
  constexpr int kWide = kWideValues<Real>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kWarps;
  const int mine = tiles > warp ? static_cast<int>((tiles - warp + warps - 1) / warps) : 0;
  const Real* from = aligned + warp * kTile + lane * kWide;
  const auto fetch = [&](int t, int slot) {
    if (t < mine) {
      Real* to = ring + slot * kTile + lane * kWide;
#pragma unroll
      for (int i = 0; i < kTile; i += 32 * kWide) __pipeline_memcpy_async(to + i, from + i, 16);
      from += warps * kTile;
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int slot = 0; slot < kSlots - 1; ++slot) fetch(slot, slot);
  int slot = 0;
#pragma unroll 1
  for (int t = 0; t < mine; ++t) {
    fetch(t + kSlots - 1, slot == 0 ? kSlots - 1 : slot - 1);
    __pipeline_wait_prior(kSlots - 1);
    add_tile(ring + slot * kTile);
    slot = slot == kSlots - 1 ? 0 : slot + 1;
  }
}

template <class Real, int L>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    ChebyshevKernel(const Real* values, std::size_t n, const double* samples,
                    const FewPlaces* counted, ChebyshevSums* blocks) {
  if (counted != nullptr && counted->missed == 0) return;
  constexpr int kTile = 32 * kLaneValues<Real>;
  extern __shared__ float4 ring_memory[];
  __shared__ ChebyshevSums states[kWarps];
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kTile;
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kWarps;
  const bool has_rest = warp == warps - 1;  // what no tile holds
  const Real* rest = aligned + tiles * kTile;
  const int rest_count = static_cast<int>(n - head - tiles * kTile);
  Real* ring = reinterpret_cast<Real*>(ring_memory) + threadIdx.x / 32 * kStages<Real> * kTile;
  WarpState state;
  if constexpr (sizeof(Real) == 8) {
    auto* const warp_states =
        reinterpret_cast<WarpState*>(reinterpret_cast<std::byte*>(ring_memory) + kRingBytes<Real>);
    Worker<Real, L> worker(warp_states[threadIdx.x]);
    if (samples != nullptr) worker.StartFrom(samples);
    if (has_rest) {
      worker.AddExactly(values, static_cast<int>(head));
      worker.AddExactly(rest, rest_count);
    }
    StreamTiles(aligned, tiles, ring, [&](const Real* tile) { worker.AddTile(tile); });
    worker.Finish();
    state = JoinBlock(worker.state, states, L);
  } else {
    WarpState cold_state;
    Worker<Real, L> worker(cold_state);
    if (samples != nullptr) {
      worker.common = static_cast<float>(FindCommon(*counted));
      StartCold(&worker, samples);
    }
    if (has_rest) {
      AddExactlyCold(&worker, values, static_cast<int>(head));
      AddExactlyCold(&worker, rest, rest_count);
    }
    if (n < kFloat32From) {
      StreamTiles(aligned, tiles, ring, [&](const Real* tile) {
        __syncwarp();  // the exact way reads other lanes' values
        AddExactlyCold(&worker, tile, kTile);
        __syncwarp();
      });
    } else {
      NarrowSums<L> sums(&worker);
      StreamTiles(aligned, tiles, ring, [&](const Real* tile) { sums.AddTile(tile); });
      sums.Flush();
    }
    FinishCold(&worker);
    state = JoinBlock(worker.state, states, L);
  }
  if (threadIdx.x < 32) Store(state, blocks + blockIdx.x, L);
}

constexpr int kJoinThreads = 288;

//! One block joins the blocks' states into blocks[0], unless the values were counted.
__global__ void __launch_bounds__(kJoinThreads)
    JoinKernel(const FewPlaces* counted, ChebyshevSums* blocks, int count, int order) {
  if (counted != nullptr && counted->missed == 0) return;
  __shared__ ChebyshevSums parts[kJoinThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  double low, high;
  JoinBoundsOf(blocks, thread % 32, 32, count, low, high);
  const WarpState part = AddStates(blocks, thread, kJoinThreads, count, low, high, order);
  const WarpState all = JoinBlock(part, parts, order);
  if (thread < 32) Store(all, blocks, order);
}

//! One block sums what was counted, if it was, into `out`.
__global__ void __launch_bounds__(kPlaces)
    CountedKernel(FewPlaces* counted, double rounding, ChebyshevSums* out, int order) {
  if (counted->missed == 0) SumPlaces<kPlaces>(*counted, rounding, out, order);
}

}  // namespace

struct ChebyshevCuda::Memory {
  int blocks;
  DeviceArray<ChebyshevSums> partial;
  DeviceArray<double> samples;
  DeviceArray<FewPlaces> places;
  bool looked = false;  //!< for few places, the last time
  double rounding = 0;
};

ChebyshevCuda::ChebyshevCuda(int order) : order_(CheckOrder(order)) {
  const int blocks = kBlocksPerMultiprocessor * MultiprocessorCount();
  memory_ = std::make_unique<Memory>(
      Memory{blocks, DeviceArray<ChebyshevSums>(static_cast<std::size_t>(blocks)),
             DeviceArray<double>(2 * kSampleBlocks), DeviceArray<FewPlaces>(1)});
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
    double* const samples = n >= kSampleFrom ? memory_->samples.data() : nullptr;
    FewPlaces* const places = n >= kSampleFrom ? memory_->places.data() : nullptr;
    if (samples != nullptr) {
      SampleKernel<<<kSampleBlocks, kSampleThreads, 0, cuda_stream>>>(values, n, samples, places);
      CountKernel<Real, kCountValues<Real>>
          <<<kCountBlocks * MultiprocessorCount(), kCountThreads, 0, cuda_stream>>>(
              values, n, samples, places);
    }
    const auto kernel = ChebyshevKernel<Real, decltype(order)::value>;
    constexpr std::size_t kShared = kSharedBytes<Real>;
    AllowSharedMemory(kernel, kShared);
    kernel<<<blocks, kThreads, kShared, cuda_stream>>>(values, n, samples, places,
                                                       memory_->partial.data());
    JoinKernel<<<1, kJoinThreads, 0, cuda_stream>>>(places, memory_->partial.data(), blocks,
                                                    decltype(order)::value);
    if (places != nullptr) {
      CountedKernel<<<1, kPlaces, 0, cuda_stream>>>(
          places, kRounding<Real>, memory_->partial.data(), decltype(order)::value);
    }
  });
  CheckCuda(cudaGetLastError(), "Chebyshev kernels");
  memory_->looked = n >= kSampleFrom;
  memory_->rounding = kRounding<Real>;
}

ChebyshevSums ChebyshevCuda::Fetch(void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  ChebyshevSums sums;
  CheckCuda(cudaMemcpyAsync(&sums, memory_->partial.data(), sizeof sums, cudaMemcpyDeviceToHost,
                            cuda_stream),
            "cudaMemcpyAsync of Chebyshev sums");
  struct {
    int missed = 1;
    int digits;
  } counted;
  if (memory_->looked) {
    CheckCuda(cudaMemcpyAsync(&counted, memory_->places.data(), sizeof counted,
                              cudaMemcpyDeviceToHost, cuda_stream),
              "cudaMemcpyAsync of digits");
  }
  CheckCuda(cudaStreamSynchronize(cuda_stream), "Chebyshev kernels");
  digits_.reset();
  if (counted.missed == 0) {
    const double magnitude = std::fmax(std::fabs(sums.min), std::fabs(sums.max));
    const bool lattice = counted.digits <= kMaxDigits &&
                         LatticeIsFiner(magnitude, counted.digits, memory_->rounding);
    digits_ = lattice ? counted.digits : kNoLattice;
  }
  return sums;
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
