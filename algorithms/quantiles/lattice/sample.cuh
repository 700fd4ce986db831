#pragma once
//! @file
//! A sample of a stream on a CUDA device: its bounds, and the lattice that its values lie on.

#include <cuda_runtime.h>

#include <cstddef>

#include "algorithms/quantiles/cuda/join_states.cuh"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/digits_by_warp.cuh"
#include "algorithms/quantiles/lattice/histogram.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {

//! What the kernels of a stream share, in device memory.
struct LatticeHistogram {
  int missed;  //!< Not 0: the counts are not valid.
  SampleCuts cuts[kSampleBlocks];
  int digits[kSampleBlocks];  //!< Decimal digits of the values that a block tried.
  unsigned exceptions;
  unsigned long long counts[kLatticePoints];
  double values[kLatticePoints];
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

//! SampleRange::Refine for the values of a warp that do not fit. 0 as soon as one has too many: so
//! do nearly all of continuous data.
__device__ __forceinline__ int RefineByWarp(const SampleRange& range, int intervals, double x,
                                            bool fits) {
  Convergents own = Convergents::Of(fits ? 0 : (x - range.low) * range.inverse);
  bool found = own.IsNear(range.tolerance);
  while (!__all_sync(kFull, found)) {
    const bool some = found || own.Next(kLatticePoints);
    if (!__all_sync(kFull, some)) return 0;
    found = own.IsNear(range.tolerance);
  }
  return JoinIntervals(fits ? intervals : range.Join(intervals, own.q));
}

//! Number of equal intervals of a range on whose bounds all values of a warp lie, NaN skipped:
//! `count` of a lane, kSampleThreads apart. 0: too many.
template <class Real>
__device__ __forceinline__ int CutByWarp(const SampleRange& range, const Real* tried, int count) {
  int intervals = 1;
#pragma unroll 1
  for (int i = 0; i < count && intervals > 0; ++i) {
    const double x = static_cast<double>(tried[i * kSampleThreads]);
    const bool fits = !(x == x) || range.Fits(intervals, x);
    if (!__all_sync(kFull, fits)) intervals = RefineByWarp(range, intervals, x, fits);
  }
  return intervals;
}

//! Samples evenly spread runs of values, NaN skipped: writes their bounds to samples[2 block] and
//! [2 block + 1], and the block's intervals to `histogram`, which it clears.
template <class Real>
__global__ void __launch_bounds__(kSampleThreads)
    SampleKernel(const Real* values, std::size_t n, double* samples, LatticeHistogram* histogram) {
  constexpr int kWarps = kSampleThreads / 32;
  constexpr int kTried = kSampleRuns / kTriedRuns;
  __shared__ double bounds[kWarps][2];
  __shared__ SampleCuts cuts[kWarps];
  __shared__ int digits[kWarps];
  LetNextStart();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::size_t spacing = n / (kSampleRuns * kSampleBlocks);
  const Real* const first = values + std::size_t{blockIdx.x} * kSampleRuns * spacing + threadIdx.x;
  __shared__ Real tried[kTried][kSampleThreads];
  Real least = Infinity<Real>();
  Real most = -Infinity<Real>();
#pragma unroll
  for (int run = 0; run < kSampleRuns; ++run) {
    const Real x = first[static_cast<unsigned>(run) * spacing];
    if (run % kTriedRuns == 0) tried[run / kTriedRuns][threadIdx.x] = x;
    least = x < least ? x : least;
    most = x > most ? x : most;
  }
  double low = static_cast<double>(least);
  double high = static_cast<double>(most);
  JoinBoundsOfBlock<kSampleThreads>(bounds, low, high);
  if (threadIdx.x == 0) {
    samples[2 * blockIdx.x] = low;
    samples[2 * blockIdx.x + 1] = high;
  }

  const int index = static_cast<int>(blockIdx.x * kSampleThreads + threadIdx.x);
  if (index < kLatticePoints) histogram->counts[index] = 0;
  if (index == 0) {
    histogram->missed = 0;
    histogram->exceptions = 0;
  }
  SampleCuts mine = SampleCuts::None(low, high);
  const Real* const own = &tried[0][threadIdx.x];
  if (low < high) {
    const SampleRange rounded = SampleRange::Of(low, high, kRounding<Real>);
    mine.rounded = CutByWarp(rounded, own, kTried);
    // Exact multiples are rounded ones too, unless rounding spans the intervals.
    const bool none = mine.rounded == 0 && rounded.AllowsEveryCut();
    mine.exact = none ? 0 : CutByWarp(SampleRange::Of(low, high, kRounding<double>), own, kTried);
    if (mine.exact > 0) mine.rounded = mine.exact;
  }
  const int own_digits = DigitsByWarp<Real>(own, kTried, kSampleThreads);
  if (lane == 0) {
    digits[warp] = own_digits;
    cuts[warp] = mine;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    mine.exact = JoinIntervals(mine.exact, cuts[w].exact);
    mine.rounded = JoinIntervals(mine.rounded, cuts[w].rounded);
    digits[0] = max(digits[0], digits[w]);
  }
  histogram->digits[blockIdx.x] = digits[0];
  histogram->cuts[blockIdx.x] = mine;
}

//! Decimal digits of the values that all blocks tried.
__device__ __forceinline__ int DigitsOfSample(const LatticeHistogram& histogram) {
  int most = 0;
#pragma unroll 8
  for (int b = 0; b < kSampleBlocks; ++b) most = max(most, histogram.digits[b]);
  return most;
}

//! Whether most blocks of the sample lie on a lattice, by one warp. If not, FindLattice finds none.
__device__ __forceinline__ bool MayBeLattice(const LatticeHistogram& histogram) {
  const SampleCuts own = histogram.cuts[threadIdx.x % 32];
  return __popc(__ballot_sync(kFull, own.exact > 0 || own.rounded > 0)) >= 32 - kSpoiltBlocks;
}

//! The lattice of most blocks of the sample, found by one warp; of exact multiples if most blocks
//! agree on these.
template <class Real>
__device__ __forceinline__ PointMap<Real> FindLattice(const double* samples,
                                                      const LatticeHistogram* histogram) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  static_assert(kSampleBlocks == 32);
  const SampleCuts own = histogram->cuts[lane];
  const bool is_exact = __popc(__ballot_sync(kFull, own.exact > 0)) >= 32 - kSpoiltBlocks;
  const int intervals = is_exact ? own.exact : own.rounded;
  const double rounding = is_exact ? kRounding<double> : kRounding<Real>;
  const bool counts = intervals > 0;
  if (__popc(__ballot_sync(kFull, counts)) < 32 - kSpoiltBlocks) return PointMap<Real>::Of({});
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
  return PointMap<Real>::Of(Lattice::Of<Real>(low, high, JoinIntervals(all), rounding));
}

}  // namespace retable::quantiles
