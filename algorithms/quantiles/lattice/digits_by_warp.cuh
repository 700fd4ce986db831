#pragma once
//! @file
//! Decimal digits of the values of a warp.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"

namespace retable::quantiles {

//! Decimal digits of a warp's values, NaN skipped: `count` of a lane, `stride` apart. Multiples of
//! 10^-d are of 10^-kMaxDigits too, which is tested first: it nearly always tells that values are
//! no decimals.
template <class Real, class Value>
__device__ __forceinline__ int DigitsByWarp(const Value* values, int count, int stride) {
  int digits = 0;
  double power = 1;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[i * stride]);
    double excess = 0;
    LatticeExcess(x, PowerOfTen(kMaxDigits), kRounding<Real>, excess);
    if (__any_sync(kFull, excess > 0)) return kMaxDigits + 1;  // false of NaN
    while (digits < kMaxDigits) {
      LatticeExcess(x, power, kRounding<Real>, excess);
      if (!__any_sync(kFull, excess > 0)) break;
      ++digits;
      power *= 10;
    }
  }
  return digits;
}

}  // namespace retable::quantiles
