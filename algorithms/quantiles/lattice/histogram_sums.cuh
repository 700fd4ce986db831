#pragma once
//! @file
//! Chebyshev sums from a lattice histogram, by one block: a thread holds a few lattice points,
//! weighted by their counts, and at most one exception.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/join_states.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/sample.cuh"
#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Sorts the exceptions, whose order depends on timing, by rank.
__device__ __forceinline__ void SortExceptions(const LatticeHistogram& histogram, int exceptions,
                                               double* exception, double* sorted) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < exceptions) exception[i] = histogram.exception[i];
  __syncthreads();
  if (i < exceptions) {
    int rank = 0;
    for (int j = 0; j < exceptions; ++j) {
      rank += exception[j] < exception[i] || (exception[j] == exception[i] && j < i) ? 1 : 0;
    }
    sorted[rank] = exception[i];
  }
  __syncthreads();
}

//! What a thread of a block adds: lattice points, and at most one exception. Weight 0: none.
template <int kThreads>
struct WeightedValues {
  static constexpr int kCount = kLatticePoints / kThreads + 1;
  double weight[kCount];
  double value[kCount];

  __device__ __forceinline__ WeightedValues(const LatticeHistogram& histogram, int exceptions,
                                            const double* sorted) {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int j = 0; j < kCount - 1; ++j) {
      weight[j] = static_cast<double>(histogram.counts[j * kThreads + thread]);
      value[j] = histogram.values[j * kThreads + thread];
    }
    weight[kCount - 1] = thread < exceptions ? 1 : 0;
    value[kCount - 1] = thread < exceptions ? sorted[thread] : 0;
  }

  //! Widens bounds to its values. @return their decimal digits, of values rounded by `rounding`
  __device__ __forceinline__ int Look(double rounding, double& low, double& high) const {
    int digits = 0;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (!(weight[j] > 0)) continue;
      low = value[j] < low ? value[j] : low;
      high = value[j] > high ? value[j] : high;
      while (digits <= kMaxDigits && !IsOnLattice(value[j], digits, rounding)) ++digits;
    }
    return digits;
  }
};

//! Sums counted lattice points and exceptions into `out`, by one block, and finds the decimal
//! digits of values rounded by `rounding`.
template <int kThreads>
__device__ __noinline__ void SumHistogram(const LatticeHistogram& histogram, double rounding,
                                          int order, ChebyshevSums* out, int* digits) {
  static_assert(kThreads >= kExceptions);
  __shared__ double exception[kExceptions];
  __shared__ double sorted[kExceptions];
  __shared__ double bounds[kThreads / 32][2];
  __shared__ TermSpace<kThreads> space;
  __shared__ int most_digits;
  const int exceptions = static_cast<int>(histogram.exceptions);
  if (threadIdx.x == 0) most_digits = 0;
  SortExceptions(histogram, exceptions, exception, sorted);
  const WeightedValues<kThreads> own(histogram, exceptions, sorted);
  double low = Infinity<double>();
  double high = -Infinity<double>();
  atomicMax(&most_digits, own.Look(rounding, low, high));
  JoinBoundsOfBlock<kThreads>(bounds, low, high);
  ChebyshevMap map;
  const bool finite = low > -Infinity<double>() && high < Infinity<double>();
  if (finite) map = JointMap(low, high);
  const double scale = map.half > 0 ? 2 / map.half : 0;
  double slot[16] = {0};
  double at_low = 0;
  double at_high = 0;
#pragma unroll
  for (int j = 0; j < own.kCount; ++j) {
    if (!(own.weight[j] > 0)) continue;
    at_low += own.value[j] == low ? own.weight[j] : 0;
    at_high += own.value[j] == high ? own.weight[j] : 0;
    double terms[16] = {0};
    if (finite) {
      AddChebyshevTerms<kMaxOrder, double>((own.value[j] - map.centre) * scale, terms);
    }
    terms[0] = 1;
#pragma unroll
    for (int k = 0; k < 16; ++k) slot[k] += own.weight[j] * terms[k];
  }
  StoreTerms<kThreads>(slot, at_low, at_high, order, map, low, high, space, out);
  if (threadIdx.x == 0) *digits = most_digits;
}

}  // namespace retable::quantiles
