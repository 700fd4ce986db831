#pragma once
//! @file
//! Chebyshev sums from a lattice histogram, by one block: thread i holds lattice point i, weighted
//! by its count, and exception i.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/sample.cuh"
#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! What one thread adds to the sums: a lattice point and an exception. Weight 0: none.
struct WeightedValues {
  double weight[2];
  double value[2];
};

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

//! The block's bounds, in all threads, and its most decimal digits, behind a barrier.
template <int kWarps>
__device__ __forceinline__ void FindBlockBounds(const WeightedValues& own, double rounding,
                                                double (&bounds)[kWarps][2], int* most_digits,
                                                double& low, double& high) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  low = Infinity<double>();
  high = -Infinity<double>();
  int digits = 0;
  for (int j = 0; j < 2; ++j) {
    if (!(own.weight[j] > 0)) continue;
    low = own.value[j] < low ? own.value[j] : low;
    high = own.value[j] > high ? own.value[j] : high;
    while (digits <= kMaxDigits && !IsOnLattice(own.value[j], digits, rounding)) ++digits;
  }
  if (threadIdx.x == 0) *most_digits = 0;
  JoinBounds(low, high);
  if (lane == 0) {
    bounds[threadIdx.x / 32][0] = low;
    bounds[threadIdx.x / 32][1] = high;
  }
  __syncthreads();
  atomicMax(most_digits, digits);
  low = bounds[lane % kWarps][0];
  high = bounds[lane % kWarps][1];
  JoinBounds(low, high);
}

//! Sums of each warp on the joint map, into shared memory.
template <int kWarps>
__device__ __forceinline__ void SumByWarp(const WeightedValues& own, const ChebyshevMap& map,
                                          bool finite, double low, double high,
                                          double (&slots)[kWarps][16], double (&ends)[kWarps][2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  double slot[16] = {0};
  double at_low = 0;
  double at_high = 0;
  for (int j = 0; j < 2; ++j) {
    if (!(own.weight[j] > 0)) continue;
    at_low += own.value[j] == low ? own.weight[j] : 0;
    at_high += own.value[j] == high ? own.weight[j] : 0;
    double terms[16] = {0};
    const double y = map.half > 0 ? 2 * (own.value[j] - map.centre) / map.half : 0;
    if (finite) AddChebyshevTerms<kMaxOrder, double>(y, terms);
    terms[0] = 1;
#pragma unroll
    for (int k = 0; k < 16; ++k) slot[k] += own.weight[j] * terms[k];
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
}

//! Sums counted lattice points and exceptions into `out`, by one block of `kThreads` =
//! kLatticePoints threads, and finds the decimal digits of values rounded by `rounding`.
template <int kThreads>
__device__ __forceinline__ void SumHistogram(LatticeHistogram& histogram, double rounding,
                                             ChebyshevSums* out, int order) {
  static_assert(kThreads == kLatticePoints && kThreads >= kExceptions);
  constexpr int kWarps = kThreads / 32;
  __shared__ double exception[kExceptions];
  __shared__ double sorted[kExceptions];
  __shared__ double bounds[kWarps][2];
  __shared__ double slots[kWarps][16];
  __shared__ double ends[kWarps][2];  // counts of values on the bounds
  __shared__ int most_digits;
  const int i = static_cast<int>(threadIdx.x);
  const int lane = i % 32;
  const int exceptions = static_cast<int>(histogram.exceptions);
  SortExceptions(histogram, exceptions, exception, sorted);
  const double count = static_cast<double>(histogram.counts[i]);
  const WeightedValues own{{count, i < exceptions ? 1.0 : 0.0},
                           {count > 0 ? histogram.values[i] : 0, i < exceptions ? sorted[i] : 0}};
  double low, high;
  FindBlockBounds(own, rounding, bounds, &most_digits, low, high);
  const bool finite = low > -Infinity<double>() && high < Infinity<double>();
  ChebyshevMap map;
  if (finite) map = ChebyshevMap::Of(low, high);
  SumByWarp(own, map, finite, low, high, slots, ends);
  if (i >= 32) return;
  // Lane k adds the warps' sums of order k; lanes 16 and 17 add the counts on the bounds.
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
  histogram.digits = most_digits;
}

}  // namespace retable::quantiles
