#pragma once
//! @file
//! Tests of whether values are decimals: multiples of 10^-digits, within the rounding of their
//! type. Whole numbers (digits = 0) do not round: 2.9999999999999996 is none.

#include "algorithms/quantiles/select.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::quantiles {

//! Most decimal digits that are tried, and the number that stands for "no decimals of so few".
inline constexpr int kMaxDigits = 6;
inline constexpr int kNoLattice = 15;

//! Relative rounding of a value read as this type.
template <class Real>
inline constexpr double kRounding = sizeof(Real) == 4 ? 1.2e-7 : 4.5e-16;

//! 10^digits, exactly.
RETABLE_HD double PowerOfTen(int digits) {
  double power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

//! Distance of x power from a whole number less what rounding explains: at most 0 on the lattice.
//! Needs |x power| < 2^51. The result is a parameter since vectors must not be returned by value.
template <class Value>
RETABLE_HD void LatticeExcess(const Value& x, double power, double rounding, Value& excess) {
  // Adding and taking off 1.5 * 2^52 rounds to a whole number.
  const double rounder = 6755399441055744.0;
  const Value v = x * power;
  const Value size = Select(v < 0, -v, v);
  const Value off = v - ((v + rounder) - rounder);
  excess = Select(off < 0, -off, off) - size * (power > 1 ? rounding : 0);
}

//! Whether x is a multiple of 10^-digits.
RETABLE_HD bool IsOnLattice(double x, int digits, double rounding) {
  double excess = 0;
  LatticeExcess(x, PowerOfTen(digits), rounding, excess);
  return excess <= 0;
}

//! Whether multiples of 10^-digits of at most this magnitude lie farther apart than rounding moves
//! them.
RETABLE_HD bool LatticeIsFiner(double magnitude, int digits, double rounding) {
  return magnitude * PowerOfTen(digits) * rounding < 0.05;
}

//! The digits found of values of at most this magnitude, or kNoLattice where they say nothing.
inline int LatticeDigits(int digits, double magnitude, double rounding) {
  return digits <= kMaxDigits && LatticeIsFiner(magnitude, digits, rounding) ? digits : kNoLattice;
}

}  // namespace retable::quantiles
