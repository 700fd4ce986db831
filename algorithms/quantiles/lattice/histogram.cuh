#pragma once
//! @file
//! Columns of few distinct values on a CUDA device (lattice/histogram.hpp): counted, not summed.
//!
//! Problem: in float32 the moments of a value cost all the time that reading it takes; on columns
//! with much of their mass on an end, more. Approach: a look at 2^19 values guesses a lattice. Each
//! block then counts places in shared memory by atomic increments, of which the hardware joins
//! those of a warp to one place; the counts are joined as whole numbers, so that their sum is exact
//! in any order. Values off the lattice go one by one into a list of exceptions, sorted later; if
//! it overflows, `missed` tells the general kernel, launched behind this one, to do all the work.
//! The lattice is that of most of the sample's blocks: a few outliers in it do no harm.

#include <cuda_runtime.h>

#include <cstddef>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/histogram.hpp"
#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

inline constexpr int kSampleBlocks = 32;
inline constexpr int kSampleThreads = 256;
inline constexpr int kSampleRuns = 64;  //!< of kSampleThreads values, per block
inline constexpr int kExceptions = 256;

//! A value that repeats, and how often 32 values drawn held it at most.
struct CommonValue {
  double value;
  int times;
};

//! In device memory.
struct FewPlaces {
  int missed;  //!< whether the counts mean nothing
  int digits;  //!< of the values (column_sums.hpp), if they were counted; of any size
  SampleCuts cuts[kSampleBlocks];
  CommonValue common[kSampleBlocks];
  unsigned exceptions;
  unsigned long long counts[kPlaces];
  double values[kPlaces];
  double exception[kExceptions];
};

//! The least common multiple over a warp's lanes.
__device__ __forceinline__ int JoinIntervals(int intervals) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    intervals = JoinIntervals(intervals, __shfl_xor_sync(kFull, intervals, step));
  }
  return intervals;
}

__device__ __forceinline__ CommonValue Commoner(const CommonValue& a, const CommonValue& b) {
  return b.times > a.times ? b : a;
}

//! The commonest over a warp's lanes, in all of them.
__device__ __forceinline__ CommonValue JoinCommon(CommonValue mine) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    mine = Commoner(mine, {__shfl_down_sync(kFull, mine.value, step),
                           __shfl_down_sync(kFull, mine.times, step)});
  }
  return {FromLane(mine.value, 0), __shfl_sync(kFull, mine.times, 0)};
}

//! The value that repeats most within a warp's values x; 0 times if it is NaN.
template <class Real>
__device__ __forceinline__ CommonValue CommonInWarp(Real x) {
  const double wide = static_cast<double>(x);
  const unsigned same =
      __match_any_sync(kFull, static_cast<unsigned long long>(__double_as_longlong(wide)));
  return JoinCommon({wide, x == x ? __popc(same) : 0});
}

//! The commonest value of the sample; NaN if none is frequent.
__device__ __forceinline__ double FindCommon(const FewPlaces& places) {
  constexpr int kFrequent = 4;  // of 32 values, once: 1 or 2 % of all
  static_assert(kSampleBlocks == 32);
  const CommonValue found = JoinCommon(places.common[threadIdx.x % 32]);
  return found.times >= kFrequent ? found.value : Infinity<double>() - Infinity<double>();
}

//! SampleRange::Refine by values of a whole warp.
inline __device__ __noinline__ int RefineByWarp(const SampleRange& range, int intervals, double x,
                                                bool fits) {
  return JoinIntervals(fits ? intervals : range.Refine(intervals, x));
}

//! Into how many intervals the values of a warp, NaN skipped, cut a range.
template <class Real, int kCount>
__device__ __forceinline__ int CutByWarp(const SampleRange& range, const Real (&values)[kCount]) {
  int intervals = 1;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const double x = static_cast<double>(values[i]);
    const bool fits = !(x == x) || range.Fits(intervals, x);
    if (!__all_sync(kFull, fits)) intervals = RefineByWarp(range, intervals, x, fits);
  }
  return intervals;
}

//! Looks at evenly spread runs of values, NaN skipped: bounds to samples[2 block] and [2 block +
//! 1], and, if `places` is not null, into what these cut the block's own range. Clears `places`.
template <class Real>
__global__ void __launch_bounds__(kSampleThreads)
    SampleKernel(const Real* values, std::size_t n, double* samples, FewPlaces* places) {
  constexpr int kWarps = kSampleThreads / 32;
  constexpr int kTriedRuns = 4;  // one in so many is tried for a lattice
  __shared__ double bounds[kWarps][2];
  __shared__ SampleCuts cuts[kWarps];
  __shared__ CommonValue commons[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::size_t spacing = n / (kSampleRuns * kSampleBlocks);
  const Real* const first = values + std::size_t{blockIdx.x} * kSampleRuns * spacing + threadIdx.x;
  Real tried[kSampleRuns / kTriedRuns];
  Real least = Infinity<Real>();
  Real most = -Infinity<Real>();
#pragma unroll
  for (int run = 0; run < kSampleRuns; ++run) {
    const Real x = first[static_cast<unsigned>(run) * spacing];
    if (run % kTriedRuns == 0) tried[run / kTriedRuns] = x;
    least = x < least ? x : least;
    most = x > most ? x : most;
  }
  double low = static_cast<double>(least);
  double high = static_cast<double>(most);
  JoinBounds(low, high);
  if (lane == 0) {
    bounds[warp][0] = low;
    bounds[warp][1] = high;
  }
  __syncthreads();
  low = bounds[lane % kWarps][0];
  high = bounds[lane % kWarps][1];
  JoinBounds(low, high);
  if (threadIdx.x == 0) {
    samples[2 * blockIdx.x] = low;
    samples[2 * blockIdx.x + 1] = high;
  }

  const int index = static_cast<int>(blockIdx.x * kSampleThreads + threadIdx.x);
  if (index < kPlaces) places->counts[index] = 0;
  if (index == 0) {
    places->missed = 0;
    places->exceptions = 0;
  }
  SampleCuts mine = SampleCuts::None(low, high);
  if (low < high) {
    mine.exact = CutByWarp(SampleRange::Of(low, high, kRounding<double>), tried);
    // Exact multiples are rounded ones too.
    mine.rounded =
        mine.exact > 0 ? mine.exact : CutByWarp(SampleRange::Of(low, high, kRounding<Real>), tried);
  }
  CommonValue common{0, 0};
#pragma unroll
  for (int i = 0; i < kSampleRuns / kTriedRuns; i += 4) {
    common = Commoner(common, CommonInWarp(tried[i]));
  }
  if (lane == 0) {
    cuts[warp] = mine;
    commons[warp] = common;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    mine.exact = JoinIntervals(mine.exact, cuts[w].exact);
    mine.rounded = JoinIntervals(mine.rounded, cuts[w].rounded);
    common = Commoner(common, commons[w]);
  }
  places->cuts[blockIdx.x] = mine;
  places->common[blockIdx.x] = common;
}

//! The lattice of most of the sample's blocks, exact if they agree on one, by one warp.
template <class Real>
__device__ __forceinline__ PlaceMap<Real> FindPlaces(const double* samples,
                                                     const FewPlaces* places) {
  constexpr int kFailures = 4;  // blocks that outliers may spoil
  const int lane = static_cast<int>(threadIdx.x) % 32;
  static_assert(kSampleBlocks == 32);
  const SampleCuts own = places->cuts[lane];
  const bool is_exact = __popc(__ballot_sync(kFull, own.exact > 0)) >= 32 - kFailures;
  const int intervals = is_exact ? own.exact : own.rounded;
  const double rounding = is_exact ? kRounding<double> : kRounding<Real>;
  const bool counts = intervals > 0;
  if (__popc(__ballot_sync(kFull, counts)) < 32 - kFailures) return PlaceMap<Real>::Of({});
  const double own_low = samples[2 * lane];
  const double own_high = samples[2 * lane + 1];
  double low = counts ? own_low : Infinity<double>();
  double high = counts ? own_high : -Infinity<double>();
  JoinBounds(low, high);
  int all = 1;
  if (counts && low < high) {
    const SampleRange range = SampleRange::Of(low, high, rounding);
    all = range.Refine(all, own_low);
    all = range.Refine(all, own_high);
    all = range.Refine(all, low + (own_high - own_low) / intervals);
  }
  return PlaceMap<Real>::Of(Lattice::Of<Real>(low, high, JoinIntervals(all), rounding));
}

//! Counts values one by one: those off the lattice become exceptions.
template <class Real>
__device__ __noinline__ void CountSlowly(const Real* values, int count, const PlaceMap<Real>& map,
                                         unsigned* histogram, FewPlaces* out) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32) {
    const Real x = values[i];
    if (!(x == x)) continue;
    const Real place = map.Nearest(x);
    if (map.Is(x, place)) {
      atomicAdd(histogram + PlaceOffset(place) / 4, 1u);
      continue;
    }
    const unsigned at = atomicAdd(&out->exceptions, 1u);
    if (at < kExceptions) {
      out->exception[at] = static_cast<double>(x);
    } else {
      out->missed = 1;
    }
  }
}

//! Two blocks a multiprocessor, so that there is room for a lane's tile in registers.
inline constexpr int kCountThreads = 512;
inline constexpr int kCountBlocks = 2;

//! Counts all values, or sets `missed`. A lane's tile has kValues.
template <class Real, int kValues>
__global__ void __launch_bounds__(kCountThreads, kCountBlocks)
    CountKernel(const Real* values, std::size_t n, const double* samples, FewPlaces* out) {
  constexpr int kWarps = kCountThreads / 32;
  constexpr int kWide = kWideValues<Real>;
  constexpr int kTile = 32 * kValues;
  __shared__ unsigned histogram[kPlaces];
  __shared__ PlaceMap<Real> places;
  if (threadIdx.x < 32) {
    const PlaceMap<Real> found = FindPlaces<Real>(samples, out);
    if (threadIdx.x == 0) {
      places = found;
      if (!found.usable) out->missed = 1;
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < kPlaces; i += kCountThreads) histogram[i] = 0;
  __syncthreads();
  if (!places.usable) return;
  const PlaceMap<Real> map = places;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kTile;
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kWarps;
  if (warp == warps - 1) {  // what no tile holds
    CountSlowly(values, static_cast<int>(head), map, histogram, out);
    CountSlowly(aligned + tiles * kTile, static_cast<int>(n - head - tiles * kTile), map, histogram,
                out);
  }
#pragma unroll 1
  for (std::size_t t = warp; t < tiles; t += warps) {
    const Real* const tile = aligned + t * kTile;
    Real x[kValues];
    std::uint32_t offset[kValues];
    bool off = false;
#pragma unroll
    for (int i = 0; i < kValues; i += kWide) LoadWide(tile + i * 32 + lane * kWide, x + i);
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      const Real place = map.Nearest(x[i]);
      off = off | !map.Is(x[i], place);
      offset[i] = PlaceOffset(place);
    }
    if (!__any_sync(kFull, off)) {
#pragma unroll
      for (int i = 0; i < kValues; ++i) atomicAdd(histogram + offset[i] / 4, 1u);
    } else {
      CountSlowly(tile, kTile, map, histogram, out);
      if (__any_sync(kFull, *static_cast<volatile int*>(&out->missed) != 0)) break;
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kPlaces; i += kCountThreads) {
    if (histogram[i] > 0) {
      atomicAdd(out->counts + i, static_cast<unsigned long long>(histogram[i]));
    }
    if (blockIdx.x == 0) {
      out->values[i] = static_cast<double>(map.Value(PlaceMap<Real>::Place(i)));
    }
  }
}

//! Sums of counted places and exceptions, by one block of `kThreads` = kPlaces threads, into `out`,
//! and the digits of the values, which are rounded by `rounding`.
template <int kThreads>
__device__ __forceinline__ void SumPlaces(FewPlaces& places, double rounding, ChebyshevSums* out,
                                          int order) {
  static_assert(kThreads == kPlaces && kThreads >= kExceptions);
  constexpr int kWarps = kThreads / 32;
  __shared__ double exception[kExceptions];
  __shared__ double sorted[kExceptions];
  __shared__ double bounds[kWarps][2];
  __shared__ double slots[kWarps][16];
  __shared__ double ends[kWarps][2];
  __shared__ int most_digits;
  const int i = static_cast<int>(threadIdx.x);
  const int lane = i % 32;
  const int warp = i / 32;
  const int exceptions = static_cast<int>(places.exceptions);
  if (i < exceptions) exception[i] = places.exception[i];
  __syncthreads();
  if (i < exceptions) {
    int rank = 0;
    for (int j = 0; j < exceptions; ++j) {
      rank += exception[j] < exception[i] || (exception[j] == exception[i] && j < i) ? 1 : 0;
    }
    sorted[rank] = exception[i];
  }
  __syncthreads();
  // A thread's place, and its exception.
  const double weight[2] = {static_cast<double>(places.counts[i]), i < exceptions ? 1.0 : 0.0};
  const double value[2] = {weight[0] > 0 ? places.values[i] : 0, i < exceptions ? sorted[i] : 0};
  double low = Infinity<double>();
  double high = -Infinity<double>();
  int digits = 0;
  for (int j = 0; j < 2; ++j) {
    if (!(weight[j] > 0)) continue;
    low = value[j] < low ? value[j] : low;
    high = value[j] > high ? value[j] : high;
    while (digits <= kMaxDigits && !IsOnLattice(value[j], digits, rounding)) ++digits;
  }
  if (i == 0) most_digits = 0;
  JoinBounds(low, high);
  if (lane == 0) {
    bounds[warp][0] = low;
    bounds[warp][1] = high;
  }
  __syncthreads();
  atomicMax(&most_digits, digits);
  low = bounds[lane % kWarps][0];
  high = bounds[lane % kWarps][1];
  JoinBounds(low, high);
  const bool finite = low > -Infinity<double>() && high < Infinity<double>();
  ChebyshevMap map;
  if (finite) map = ChebyshevMap::Of(low, high);
  double slot[16] = {0};
  double at_low = 0;
  double at_high = 0;
  for (int j = 0; j < 2; ++j) {
    if (!(weight[j] > 0)) continue;
    at_low += value[j] == low ? weight[j] : 0;
    at_high += value[j] == high ? weight[j] : 0;
    double terms[16] = {0};
    const double y = map.half > 0 ? 2 * (value[j] - map.centre) / map.half : 0;
    if (finite) AddChebyshevTerms<kMaxOrder, double>(y, terms);
    terms[0] = 1;
#pragma unroll
    for (int k = 0; k < 16; ++k) slot[k] += weight[j] * terms[k];
  }
  const double sum = SumSlots(slot);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    at_low += __shfl_xor_sync(kFull, at_low, step);
    at_high += __shfl_xor_sync(kFull, at_high, step);
  }
  if (lane % 2 == 0) slots[warp][lane / 2] = sum;
  if (lane == 0) {
    ends[warp][0] = at_low;
    ends[warp][1] = at_high;
  }
  __syncthreads();
  if (i >= 32) return;
  // Lane k: order k; then the recovery and the ends by the first.
  double total = 0;
  for (int w = 0; w < kWarps; ++w)
    total += lane < 16 ? slots[w][lane] : lane < 18 ? ends[w][lane - 16] : 0;
  __syncwarp();
  if (lane < 18) slots[lane / 16][lane % 16] = total;
  __syncwarp();
  if (lane != 0) return;
  RecoverSums(slots[0], order);
  for (int k = 0; k <= kMaxOrder; ++k) out->sum[k] = k <= order ? slots[0][k] : 0;
  out->map = map;
  out->min = low;
  out->max = high;
  out->at_min = slots[1][0];
  out->at_max = slots[1][1];
  places.digits = most_digits;
}

}  // namespace retable::quantiles
