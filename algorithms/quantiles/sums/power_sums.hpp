#pragma once
//! @file
//! The two states a moments sketch can keep: raw power sums, and central sums by Pebay's formulas.
//!
//! Problem: sums of x^k up to order l <= 15, in one pass, mergeable. Raw sums S_k = sum x^k (eq. 1)
//! merge by addition and cost l multiplications a value, but lose c^l digits when the data lie c
//! half-ranges off zero. Central sums M_k = sum (x - mean)^k do not; they are updated by eq. 13 and
//! merged by eq. 12 at O(l^2) operations each.
//!
//! Both are plain structs that fit the registers of a GPU thread; CPU and GPU share the code.
//! CentralSums keeps the *divided* sums m_k = M_k / k!, with which eq. 12 is a plain convolution,
//! m_k = sum_i m_{k-i} p^i / i!, and the binomials vanish.
//!
//! NaN is a missing value and is skipped. Memory: l + 3 numbers. Deterministic: same order of
//! calls, same bits. Sources: Mitchell, Frank, Holmes, TODS 46(1) 2021, eqs. 1, 12, 13; Pebay,
//! Terriberry, Kolla, Bennett, "Numerically stable, scalable formulas for parallel and online
//! computation of higher-order multivariate central moments", Computational Statistics 31, 2016.

#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::quantiles {

//! Highest order of moments any method takes.
inline constexpr int kMaxOrder = 15;

//! Larger than any finite number of either type, without <limits> on a device.
template <class Real>
RETABLE_HD Real Infinity() {
  return static_cast<Real>(__builtin_inff());
}

//! A missing value.
template <class Real>
RETABLE_HD Real NotANumber() {
  return static_cast<Real>(__builtin_nanf(""));
}

//! Raw power sums: sum[0] is the count, sum[k] the sum of x^k.
template <class Real, int L>
struct PowerSums {
  Real sum[L + 1];
  Real min;
  Real max;

  RETABLE_HD static PowerSums Empty() {
    PowerSums s;
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= L; ++k) s.sum[k] = 0;
    s.min = Infinity<Real>();
    s.max = -Infinity<Real>();
    return s;
  }

  //! Calls visit(number, the same of `other`) for what both have.
  template <int M, class Visit>
  RETABLE_HD void Pair(const PowerSums<Real, M>& other, const Visit& visit) {
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= (L < M ? L : M); ++k) visit(sum[k], other.sum[k]);
    visit(min, other.min);
    visit(max, other.max);
  }
  //! A state of another order; sums beyond it are zero.
  template <int M>
  static PowerSums Of(const PowerSums<Real, M>& other) {
    PowerSums s = Empty();
    s.Pair(other, [](Real& to, Real from) { to = from; });
    return s;
  }

  RETABLE_HD void Add(Real x) {
    if (!(x == x)) return;
    Real power = 1;
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= L; ++k) {
      sum[k] += power;
      power *= x;
    }
    min = x < min ? x : min;
    max = x > max ? x : max;
  }

  RETABLE_HD void Merge(const PowerSums& other) {
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= L; ++k) sum[k] += other.sum[k];
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

//! Divided central sums: sum[k] = (1 / k!) sum (x - mean)^k; sum[0] is the count, sum[1] is zero.
template <class Real, int L>
struct CentralSums {
  Real sum[L + 1];
  Real mean;
  Real min;
  Real max;

  RETABLE_HD static CentralSums Empty() {
    CentralSums s;
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= L; ++k) s.sum[k] = 0;
    s.mean = 0;
    s.min = Infinity<Real>();
    s.max = -Infinity<Real>();
    return s;
  }

  //! Calls visit(number, the same of `other`) for what both have.
  template <int M, class Visit>
  RETABLE_HD void Pair(const CentralSums<Real, M>& other, const Visit& visit) {
    RETABLE_UNROLL_ALL
    for (int k = 0; k <= (L < M ? L : M); ++k) visit(sum[k], other.sum[k]);
    visit(mean, other.mean);
    visit(min, other.min);
    visit(max, other.max);
  }
  //! A state of another order; sums beyond it are zero.
  template <int M>
  static CentralSums Of(const CentralSums<Real, M>& other) {
    CentralSums s = Empty();
    s.Pair(other, [](Real& to, Real from) { to = from; });
    return s;
  }

  //! Eq. 13: one more value.
  RETABLE_HD void Add(Real x) {
    if (!(x == x)) return;
    const Real before = sum[0];
    const Real count = before + 1;
    const Real delta = x - mean;
    const Real shift = -delta / count;        // old mean -> new mean, with opposite sign
    const Real own = before / count * delta;  // x - new mean
    Real shift_power[L + 1];                  // shift^i / i!
    Real own_power[L + 1];                    // own^i / i!
    shift_power[0] = own_power[0] = 1;
    RETABLE_UNROLL_ALL
    for (int i = 1; i <= L; ++i) {
      shift_power[i] = shift_power[i - 1] * shift * (Real(1) / Real(i));
      own_power[i] = own_power[i - 1] * own * (Real(1) / Real(i));
    }
    RETABLE_UNROLL_ALL
    for (int k = L; k >= 2; --k) {
      Real m = sum[k] + (before * shift_power[k] + own_power[k]);
      RETABLE_UNROLL_ALL
      for (int i = 1; i <= k - 2; ++i) m += sum[k - i] * shift_power[i];
      sum[k] = m;
    }
    sum[0] = count;
    mean -= shift;
    min = x < min ? x : min;
    max = x > max ? x : max;
  }

  //! Eq. 12: the union of two streams.
  RETABLE_HD void Merge(const CentralSums& other) {
    if (other.sum[0] == 0) return;
    if (sum[0] == 0) {
      *this = other;
      return;
    }
    const Real count = sum[0] + other.sum[0];
    const Real delta = other.mean - mean;
    const Real a = -other.sum[0] / count * delta;  // this mean - joint mean
    const Real b = sum[0] / count * delta;         // other mean - joint mean
    Real a_power[L + 1];
    Real b_power[L + 1];
    a_power[0] = b_power[0] = 1;
    RETABLE_UNROLL_ALL
    for (int i = 1; i <= L; ++i) {
      a_power[i] = a_power[i - 1] * a * (Real(1) / Real(i));
      b_power[i] = b_power[i - 1] * b * (Real(1) / Real(i));
    }
    RETABLE_UNROLL_ALL
    for (int k = L; k >= 2; --k) {
      Real m = sum[k] + other.sum[k];
      m += sum[0] * a_power[k] + other.sum[0] * b_power[k];
      RETABLE_UNROLL_ALL
      for (int i = 1; i <= k - 2; ++i) {
        m += sum[k - i] * a_power[i] + other.sum[k - i] * b_power[i];
      }
      sum[k] = m;
    }
    sum[0] = count;
    mean -= a;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

}  // namespace retable::quantiles
