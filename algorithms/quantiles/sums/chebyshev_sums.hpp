#pragma once
//! @file
//! Sums of Chebyshev polynomials on an interval that grows: one pass, no bounds known beforehand.
//!
//! Problem: moments of order 15 of a stream, to 1e-13, at the speed of reading it. Raw sums lose
//! c^15 digits; Pebay's central sums are stable but cost O(l^2) a value, and their later change to
//! the Chebyshev basis on [min, max] loses five digits more. Approach: take sums of T_k directly,
//! over a tile of values, on the tile's own [min, max]; then move sums to wider intervals only.
//! With x = c1 + h1 t = c2 + h2 u, u = alpha t + beta and |alpha| + |beta| <= 1, T_k(u) expands in
//! T_j(t) with coefficients of at most 4 / pi, as T_k(u) stays within 1 on the tile: the change is
//! perfectly conditioned. Narrowing would be exponentially bad, and never happens.
//!
//! The change itself is a recurrence on mixed sums V_k[j] = sum T_j(t) T_k(alpha t + beta):
//!     V_{k+1}[j] = 2 beta V_k[j] + alpha (V_k[j+1] + V_k[|j-1|]) - V_{k-1}[j],
//! 3 l^2 / 2 operations. A value costs fewer than 2 l: with C_n = 2 T_n(t), y = 2t, the products
//! C_m C_n = C_{m+n} + C_{m-n} leave only C_1..C_4, C_8, C_12 to be formed, and the other sums come
//! from sums of C_4 C_j, C_8 C_j, C_12 C_j (j < 4) when the tile ends: 20 multiply-adds at l = 15.
//!
//! A map is kept as (centre, half range), and t is *defined* by these rounded numbers, so data far
//! from zero lose no digits. The state also counts the values at the minimum and at the maximum:
//! most columns with repeated values repeat one of these.
//!
//! Memory 23 numbers. Deterministic for a given sequence of tiles. Sources: merging by widening and
//! the product form, this project; the power-sum sketch, Gan et al., PVLDB 2018.

#include "algorithms/quantiles/sums/power_sums.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::quantiles {

//! Adds C_1, C_2, C_3, C_4, C_8, C_12 and the products C_4 C_j, C_8 C_j, C_12 C_j of a value (or of
//! a vector of values, of which Scalar is an element) y = 2t to s[1..L]. RecoverSums ends it.
template <int L, class Scalar, class Value>
RETABLE_HD void AddChebyshevTerms(const Value& y, Value* s) {
  const Scalar two = 2;
  s[1] += y;
  if constexpr (L >= 2) {
    const Value c2 = y * y - two;
    s[2] += c2;
    if constexpr (L >= 3) {
      const Value c3 = y * c2 - y;
      s[3] += c3;
      if constexpr (L >= 4) {
        const Value c4 = c2 * c2 - two;
        s[4] += c4;
        if constexpr (L >= 5) s[5] += c4 * y;
        if constexpr (L >= 6) s[6] += c4 * c2;
        if constexpr (L >= 7) s[7] += c4 * c3;
        if constexpr (L >= 8) {
          const Value c8 = c4 * c4 - two;
          s[8] += c8;
          if constexpr (L >= 9) s[9] += c8 * y;
          if constexpr (L >= 10) s[10] += c8 * c2;
          if constexpr (L >= 11) s[11] += c8 * c3;
          if constexpr (L >= 12) {
            const Value c12 = c8 * c4 - c4;
            s[12] += c12;
            if constexpr (L >= 13) s[13] += c12 * y;
            if constexpr (L >= 14) s[14] += c12 * c2;
            if constexpr (L >= 15) s[15] += c12 * c3;
          }
        }
      }
    }
  }
}

//! Sums of the terms above -> sums of T_k, k = 1..order: S_{m+j} = P_{m,j} - S_{m-j}, then halved.
template <class Real>
RETABLE_HD void RecoverSums(Real* s, int order) {
  for (int k = 5; k <= order; ++k) {
    const int m = k & ~3;
    if (k != m) s[k] -= s[2 * m - k];
  }
  for (int k = 1; k <= order; ++k) s[k] *= Real(0.5);
}

//! The map of a stream's sums: t = (x - centre) / half. half = 0: at most one distinct value, with
//! t = 0.
struct ChebyshevMap {
  double centre = 0;
  double half = 0;

  //! The map of [min, max]: a rounded centre, and a half range that reaches both bounds from it.
  RETABLE_HD static ChebyshevMap Of(double min, double max) {
    ChebyshevMap map;
    map.centre = 0.5 * min + 0.5 * max;
    const double up = max - map.centre;
    const double down = map.centre - min;
    map.half = up > down ? up : down;
    return map;
  }
  RETABLE_HD bool operator==(const ChebyshevMap& other) const {
    return centre == other.centre && half == other.half;
  }
};

//! One step of the recurrence over all j: V_{k-1} in `before` becomes V_{k+1}. Entry j is at j + 1
//! and V[-1] = V[1] at 0. All entries are computed, even unused ones, so that the loop has a fixed
//! number of vectors.
RETABLE_HD void StepMixedSums(double* before, const double* now, double alpha, double twice_beta) {
  for (int j = 1; j <= kMaxOrder + 1; ++j) {
    before[j] = (twice_beta * now[j] - before[j]) + alpha * (now[j + 1] + now[j - 1]);
  }
  before[0] = before[2];
}

//! Sums of T_k(t), k = 0..order -> sums of T_k(alpha t + beta), of which `take(k, sum)` gets those
//! of k = 1..order in turn.
template <class Take>
RETABLE_HD void MapChebyshevSums(const double* sum, int order, double alpha, double beta,
                                 const Take& take) {
  double even[kMaxOrder + 3] = {0};
  double odd[kMaxOrder + 3] = {0};
  for (int j = 0; j <= order; ++j) even[j + 1] = sum[j];
  even[0] = even[2];
  for (int j = 1; j <= kMaxOrder + 1; ++j) {
    odd[j] = beta * even[j] + 0.5 * alpha * (even[j + 1] + even[j - 1]);
  }
  odd[0] = odd[2];
  for (int k = 1; k <= order; k += 2) {
    take(k, odd[1]);
    if (k == order) break;
    StepMixedSums(even, odd, alpha, 2 * beta);
    take(k + 1, even[1]);
    StepMixedSums(odd, even, alpha, 2 * beta);
  }
}

//! The same in place.
RETABLE_HD void MapChebyshevSums(double* sum, int order, double alpha, double beta) {
  MapChebyshevSums(sum, order, alpha, beta, [sum](int k, double moved) { sum[k] = moved; });
}

//! The whole state. sum[0] is the count.
struct ChebyshevSums {
  double sum[kMaxOrder + 1] = {0};
  ChebyshevMap map;
  double min = 0;
  double max = 0;
  double at_min = 0;  //!< number of values equal to the minimum
  double at_max = 0;  //!< number of values equal to the maximum

  //! Moves the sums to a map whose interval contains the present one.
  RETABLE_HD void MoveTo(const ChebyshevMap& wider, int order) {
    if (map == wider) return;
    // The inverse of a half range below 1e-308 overflows: every value counts as the centre.
    const double inverse = wider.half > 0x1p-1022 ? 1 / wider.half : 0;
    MapChebyshevSums(sum, order, map.half * inverse, (map.centre - wider.centre) * inverse);
    map = wider;
  }

  //! Adds another stream's sums, which it may move to the joint map. The sums of a stream with an
  //! infinite value are not valid, as its bounds show.
  RETABLE_HD void Merge(ChebyshevSums& other, int order) {
    if (other.sum[0] == 0) return;
    if (sum[0] == 0) {
      *this = other;
      return;
    }
    const double low = other.min < min ? other.min : min;
    const double high = other.max > max ? other.max : max;
    at_min = (min == low ? at_min : 0) + (other.min == low ? other.at_min : 0);
    at_max = (max == high ? at_max : 0) + (other.max == high ? other.at_max : 0);
    min = low;
    max = high;
    const ChebyshevMap joint = ChebyshevMap::Of(low, high);
    MoveTo(joint, order);
    other.MoveTo(joint, order);
    for (int k = 0; k <= kMaxOrder; ++k) sum[k] += other.sum[k];
  }
};

}  // namespace retable::quantiles
