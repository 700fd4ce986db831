#pragma once
//! @file
//! The lattice of a column of few distinct values: guessed from a sample, and an exact test, in the
//! type of the values, of which lattice point equals a value.
//!
//! Problem: pixels, grades, whole numbers and decimals repeat few values. Counting these is exact,
//! and cheaper than 15 moments of each; but one pass has to find the lattice, and must not be wrong
//! about a value that the sample did not show. Approach: differences from the sample's minimum,
//! relative to its range, are fractions k / m; m is the least common multiple of their
//! denominators, found by continued fractions within the rounding of the values. The lattice is
//! step * (first + i), 1024 points around the sample's range. One fused multiply-add and a mask
//! find the nearest point of a value; the point's value, computed back from it, must *equal* the
//! value. Hence a wrong guess cannot spoil a count: it only makes values miss the lattice.
//!
//! A second m of tighter tolerance tells values that are exact multiples (whole numbers, floats far
//! from zero) from rounded ones (0.1, 1 / 255). The step of rounded ones is taken as a ratio of
//! small whole numbers and kept to twice the precision of the type, so that its multiples round as
//! decimals do when they are read.

#include <cmath>
#include <cstdint>

#include "base/cuda/host_device.hpp"

namespace retable::quantiles {

//! Points of a lattice histogram: a power of two, for the mask of PointOffset.
inline constexpr int kLatticePoints = 1024;

//! The convergents p / q of the continued fraction of u >= 0, one by one.
struct Convergents {
  double u;
  double p;
  double q;
  double p_before;
  double q_before;
  double rest;

  RETABLE_HD static Convergents Of(double u) {
    const double whole = std::floor(u);
    return {u, whole, 1, 1, 0, u - whole};
  }
  RETABLE_HD bool IsNear(double tolerance) const { return std::fabs(u * q - p) <= tolerance * q; }
  //! False if there is no other of a denominator below `limit`.
  RETABLE_HD bool Next(double limit) {
    if (!(rest > 0)) return false;
    const double inverse = 1 / rest;
    const double whole = std::floor(inverse);
    const double p_next = whole * p + p_before;
    const double q_next = whole * q + q_before;
    if (!(q_next < limit)) return false;
    *this = {u, p_next, q_next, p, q, inverse - whole};
    return true;
  }
};

//! The least denominator q < limit of a convergent p / q within `tolerance` of u >= 0, or 0.
RETABLE_HD double LeastDenominator(double u, double tolerance, double limit) {
  Convergents c = Convergents::Of(u);
  while (!c.IsNear(tolerance)) {
    if (!c.Next(limit)) return 0;
  }
  return c.q;
}

//! The least common multiple of two numbers of intervals; 0, for too many, absorbs.
RETABLE_HD int JoinIntervals(int a, int b) {
  if (a == b) return a;
  if (a == 0 || b == 0) return 0;
  int x = a, y = b;
  while (y != 0) {
    const int r = x % y;
    x = y;
    y = r;
  }
  const int joined = a / x * b;  // below 2^20
  return joined < kLatticePoints ? joined : 0;
}

//! Largest |first| of a lattice: larger indices have no room in a number of the type.
template <class Real>
inline constexpr double kFarthest = sizeof(Real) == 4 ? 0x1p19 : 0x1p47;

//! The range of a sample, and the test whether its values divide the range into equal intervals.
struct SampleRange {
  double low;
  double range;
  double inverse;
  double tolerance;  //!< Largest distance of a value from a division, relative to the range.

  //! `rounding` is the relative rounding of the values (kRounding).
  RETABLE_HD static SampleRange Of(double low, double high, double rounding) {
    const double magnitude = std::fabs(low) > std::fabs(high) ? std::fabs(low) : std::fabs(high);
    const double range = high - low;
    return {low, range, 1 / range, 2 * rounding * magnitude / range + 1e-15};
  }

  //! Whether x lies on a division of the range into so many intervals.
  RETABLE_HD bool Fits(int intervals, double x) const {
    const double v = (x - low) * inverse * intervals;
    return std::fabs(v - std::nearbyint(v)) <= intervals * tolerance;
  }
  //! The number of intervals, a multiple of `intervals`, so that x also lies on a division. 0: too
  //! many.
  RETABLE_HD int Refine(int intervals, double x) const {
    if (intervals == 0 || Fits(intervals, x)) return intervals;
    return Join(intervals, LeastDenominator((x - low) * inverse, tolerance, kLatticePoints));
  }
  //! The least common multiple, where the tolerance allows so many intervals.
  RETABLE_HD int Join(int intervals, double own) const {
    const int joined = JoinIntervals(intervals, static_cast<int>(own));
    return Allows(joined) ? joined : 0;
  }
  //! Whether the tolerance allows every number of intervals.
  RETABLE_HD bool AllowsEveryCut() const { return Allows(kLatticePoints); }

 private:
  //! With more intervals every value would lie within the tolerance of a division.
  RETABLE_HD bool Allows(int intervals) const { return intervals * tolerance < 0.05; }
};

//! Numbers of intervals of a sample's range, for exact multiples and for rounded ones. 0: too many.
struct SampleCuts {
  int exact;
  int rounded;

  //! Of no values.
  RETABLE_HD static SampleCuts None(double low, double high) {
    return low <= high ? SampleCuts{1, 1} : SampleCuts{0, 0};
  }
};

//! Values origin + step * (first + i), 0 <= i < kLatticePoints.
struct Lattice {
  double step = 0;  //!< 0: none
  double rest = 0;  //!< The exact step less `step`.
  double origin = 0;
  double first = 0;

  //! The lattice of a sample on [low, high], whose range has so many intervals within `rounding`,
  //! with unused points on either side. Real: the type that must tell its points apart.
  template <class Real>
  RETABLE_HD static Lattice Of(double low, double high, int intervals, double rounding) {
    if (intervals == 0 || !(std::fabs(low) + std::fabs(high) < Infinite())) return {};
    if (low == high) {
      return {low == 0 ? 1 : std::fabs(low), 0, 0, (low > 0) - (low < 0) - kLatticePoints / 2.0};
    }
    const double tolerance = SampleRange::Of(low, high, rounding).tolerance;
    const double step = (high - low) / intervals;
    // The step is a ratio of small whole numbers, if it is near one.
    const double found = LeastDenominator(step, tolerance * step, 1 << 24);
    const double q = found > 0 ? found : 1;
    const double p = found > 0 ? std::nearbyint(step * q) : step;
    // Zero lies on the lattice, or on one that is a little finer.
    for (int split = 1; split <= 8 && split * intervals < kLatticePoints; ++split) {
      const double fine = p / (q * split);
      const double from = std::nearbyint(low / fine);
      if (std::fabs(low / fine - from) > 0.02 || !(std::fabs(from) < kFarthest<Real>)) continue;
      const double rest = std::fma(-fine, q * split, p) / (q * split);
      return {fine, rest, 0, from - (kLatticePoints - split * intervals) / 2};
    }
    // Exact multiples far from zero: differences from the minimum are exact.
    if (!(4 * kLatticePoints * step < std::fabs(low))) return {};
    return {step, 0, low, -static_cast<double>((kLatticePoints - intervals) / 2)};
  }

 private:
  RETABLE_HD static double Infinite() { return static_cast<double>(__builtin_inff()); }
};

//! A number of exponent 2^23 or 2^52, whose last bits hold the index of a point.
template <class Real>
inline constexpr double kPointBase = sizeof(Real) == 4 ? 12582912.0 : 6755399441055744.0;

RETABLE_HD std::uint32_t LowBits(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}
RETABLE_HD std::uint32_t LowBits(double x) {
  return static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, x));
}
//! 4 i, from the number that holds it: the offset of counter i in bytes.
template <class Real>
RETABLE_HD std::uint32_t PointOffset(Real point) {
  return LowBits(point) & (4u * (kLatticePoints - 1));
}

//! A lattice in the arithmetic of a type. Point i is represented as kPointBase + 4 i.
template <class Real>
struct PointMap {
  Real origin;
  Real scale;
  Real shift;
  Real back;
  Real quarter;      //!< a quarter of the step, rounded
  Real quarter_low;  //!< the rounding error of `quarter`
  bool usable;

  RETABLE_HD static PointMap Of(const Lattice& lattice) {
    const double step = lattice.step;
    const double largest = std::fabs(lattice.first) + kLatticePoints;
    const bool single = sizeof(Real) == 4;
    PointMap map{};
    map.origin = static_cast<Real>(lattice.origin);
    map.usable = step > (single ? 1e-30 : 1e-290) && step * largest < (single ? 1e37 : 1e307) &&
                 largest < 2 * kFarthest<Real> && map.origin == lattice.origin;
    if (!map.usable) return map;
    map.scale = static_cast<Real>(4 / step);
    // Two quarters up: the mask rounds down.
    map.shift = static_cast<Real>(kPointBase<Real> + 2 - 4 * lattice.first);
    map.back = static_cast<Real>(kPointBase<Real> - 4 * lattice.first);
    map.quarter = static_cast<Real>(step / 4);
    const double left = step / 4 - static_cast<double>(map.quarter);
    map.quarter_low = static_cast<Real>(left + lattice.rest / 4);
    return map;
  }

  //! The point nearest to x, if any is near.
  RETABLE_HD Real Nearest(Real x) const { return Masked(std::fma(x - origin, scale, shift)); }
  //! Whether x equals the value of that point. Near an origin other than zero x - origin is exact.
  RETABLE_HD bool Is(Real x, Real point) const { return Offset(point) == x - origin; }
  RETABLE_HD Real Value(Real point) const { return origin + Offset(point); }
  RETABLE_HD static Real Point(int i) { return static_cast<Real>(kPointBase<Real> + 4 * i); }

 private:
  RETABLE_HD Real Offset(Real point) const {
    const Real f = point - back;
    return std::fma(f, quarter, f * quarter_low);
  }
  RETABLE_HD static float Masked(float r) {
    return __builtin_bit_cast(float, PointOffset(r) | 0x4b400000u);
  }
  RETABLE_HD static double Masked(double r) {
    return __builtin_bit_cast(double, std::uint64_t{PointOffset(r)} | 0x4338000000000000u);
  }
};

}  // namespace retable::quantiles
