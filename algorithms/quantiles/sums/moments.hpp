#pragma once
//! @file
//! From sums to moments on [-1, 1]: scale, shift, and change to an orthogonal basis.
//!
//! Problem: the maximum-entropy and Legendre fits want moments of the data mapped to [-1, 1]; the
//! sketch has sums of raw or central powers. Approach: eqs. 3 and 4 of Mitchell et al. 2021;
//! central sums are shifted by (mean - centre) instead of (-centre), which is at most 1 in
//! magnitude, and raw ones by -centre, which may be thousands: the binomial sum then cancels and
//! loses all digits. The paper studies this loss, so the code does not avoid it; see
//! MomentsAreSound.
//!
//! Complexity O(l^2) a conversion. Worst growth of rounding of the basis change is about
//! ((1 + sqrt 2)^l) / 2, five digits at l = 15, also for central sums; chebyshev_sums.hpp avoids
//! it.

#include <array>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

//! Moments of the data mapped to [-1, 1] by t = (x - centre()) / half_range().
struct ScaledMoments {
  int order = 0;
  double count = 0;
  double min = 0;
  double max = 0;
  std::array<double, kMaxOrder + 1> moment{};  //!< E[t^k], k = 0..order

  double centre() const { return 0.5 * min + 0.5 * max; }
  double half_range() const { return 0.5 * max - 0.5 * min; }
};

//! Eqs. 3, 4 on raw power sums.
ScaledMoments Scale(const PowerSums<double, kMaxOrder>& sums, int order);

//! Eqs. 3, 4 on divided central sums, shifted by mean - centre.
ScaledMoments Scale(const CentralSums<double, kMaxOrder>& sums, int order);

//! E[T_k(t)], the Chebyshev moments, k = 0..order.
std::array<double, kMaxOrder + 1> ChebyshevMoments(const ScaledMoments& moments);

//! E[L_k(t)], the Legendre moments, k = 0..order (eq. 11).
std::array<double, kMaxOrder + 1> LegendreMoments(const ScaledMoments& moments);

//! True if every number is finite and none exceeds 1 by more than `slack`: a moment of data in
//! [-1, 1] cannot. Cancellation of raw sums causes it; no density has such moments.
bool MomentsAreSound(const std::array<double, kMaxOrder + 1>& moment, int order, double slack);

}  // namespace retable::quantiles
