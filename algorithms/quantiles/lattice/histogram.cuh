#pragma once
//! @file
//! The lattice histogram (lattice/histogram.hpp) on a CUDA device.
//!
//! Problem: in float32 the moments of a value take as long as reading it; on columns with much mass
//! on a bound, longer. Approach: a sample of 2^19 values guesses a lattice (sample.cuh). Each block
//! counts lattice points in shared memory by atomic increments, of which the hardware joins those
//! of a warp to one point; counts are integers, so that their sum is exact in any order. Values off
//! the lattice become a list of exceptions; if it overflows, `missed` tells the caller to sum
//! instead. The lattice is that of most blocks of the sample, since outliers spoil a few.

#include <cuda_runtime.h>

#include <cstddef>

#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/histogram.hpp"
#include "algorithms/quantiles/lattice/sample.cuh"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {

//! Counts values one by one; those off the lattice become exceptions.
template <class Real>
__device__ __noinline__ void CountSlowly(const Real* values, int count, const PointMap<Real>& map,
                                         unsigned* histogram, LatticeHistogram* out) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32) {
    const Real x = values[i];
    if (!(x == x)) continue;
    const Real point = map.Nearest(x);
    if (map.Is(x, point)) {
      atomicAdd(histogram + PointOffset(point) / 4, 1u);
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

//! Counts all values on a lattice, by all blocks of a grid, or sets `missed`. `histogram` is shared
//! memory of kLatticePoints counters.
template <class Real>
__device__ __forceinline__ void CountValues(const Real* values, std::size_t n,
                                            const PointMap<Real>& map, unsigned* histogram,
                                            LatticeHistogram* out) {
  constexpr int kWarps = kStreamThreads / 32;
  constexpr int kValues = kCountValues<Real>;
  constexpr int kWide = kWideValues<Real>;
  constexpr int kTile = 32 * kValues;
  for (int i = static_cast<int>(threadIdx.x); i < kLatticePoints; i += kStreamThreads)
    histogram[i] = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kTile;
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kWarps;
  if (warp == warps - 1) {  // values before and behind all tiles
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
      const Real point = map.Nearest(x[i]);
      off = off | !map.Is(x[i], point);
      offset[i] = PointOffset(point);
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
  for (int i = static_cast<int>(threadIdx.x); i < kLatticePoints; i += kStreamThreads) {
    if (histogram[i] > 0) {
      atomicAdd(out->counts + i, static_cast<unsigned long long>(histogram[i]));
    }
    if (blockIdx.x == 0) {
      out->values[i] = static_cast<double>(map.Value(PointMap<Real>::Point(i)));
    }
  }
}

}  // namespace retable::quantiles
