#pragma once
//! @file
//! A sample of a stream on a CUDA device: its bounds, and the lattice that its values lie on.

#include <cuda_runtime.h>

#include <cstddef>

#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/histogram.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {

//! What the kernels of a stream share, in device memory.
struct LatticeHistogram {
  int missed;  //!< Not 0: the counts are not valid.
  int digits;  //!< Decimal digits of the counted values, whatever their magnitude.
  SampleCuts cuts[kSampleBlocks];
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

//! SampleRange::Refine for the values of a warp.
inline __device__ __noinline__ int RefineByWarp(const SampleRange& range, int intervals, double x,
                                                bool fits) {
  return JoinIntervals(fits ? intervals : range.Refine(intervals, x));
}

//! Number of equal intervals of a range on whose bounds all values of a warp lie, NaN skipped.
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

//! Samples evenly spread runs of values, NaN skipped: writes their bounds to samples[2 block] and
//! [2 block + 1], and the block's intervals to `histogram`, which it clears.
template <class Real>
__global__ void __launch_bounds__(kSampleThreads)
    SampleKernel(const Real* values, std::size_t n, double* samples, LatticeHistogram* histogram) {
  constexpr int kWarps = kSampleThreads / 32;
  __shared__ double bounds[kWarps][2];
  __shared__ SampleCuts cuts[kWarps];
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
  if (index < kLatticePoints) histogram->counts[index] = 0;
  if (index == 0) {
    histogram->missed = 0;
    histogram->exceptions = 0;
  }
  SampleCuts mine = SampleCuts::None(low, high);
  if (low < high) {
    mine.exact = CutByWarp(SampleRange::Of(low, high, kRounding<double>), tried);
    // Exact multiples are rounded ones too.
    mine.rounded =
        mine.exact > 0 ? mine.exact : CutByWarp(SampleRange::Of(low, high, kRounding<Real>), tried);
  }
  if (lane == 0) cuts[warp] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    mine.exact = JoinIntervals(mine.exact, cuts[w].exact);
    mine.rounded = JoinIntervals(mine.rounded, cuts[w].rounded);
  }
  histogram->cuts[blockIdx.x] = mine;
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
