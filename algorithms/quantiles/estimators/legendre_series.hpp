#pragma once
//! @file
//! The Legendre series of given Legendre moments, and its quantiles.
//!
//! f(t) = sum_n (2n+1)/2 mu_n L_n(t) (Mitchell et al. 2021, section 5). No optimisation: the
//! distribution function is a polynomial by the identity (2n+1) integral L_n = L_{n+1} - L_{n-1};
//! it is 0 at -1 and 1 at 1 exactly, but the density may be negative somewhere, so F may have
//! several roots for a phi: the first one that bracketed Newton finds is taken. O(l) an evaluation.

#include <array>
#include <utility>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

class LegendreSeries {
 public:
  //! Legendre moments mu[0..order], mu[0] = 1, all finite.
  LegendreSeries(const std::array<double, kMaxOrder + 1>& mu, int order);

  double Density(double t) const { return CdfAndDensity(t).second; }
  double Cdf(double t) const { return CdfAndDensity(t).first; }
  //! {F(t), f(t)}.
  std::pair<double, double> CdfAndDensity(double t) const;
  //! A root t of F(t) = phi in [-1, 1].
  double Quantile(double phi) const;

 private:
  int order_;
  std::array<double, kMaxOrder + 1> density_{};   //!< coefficients of L_n in f
  std::array<double, kMaxOrder + 2> integral_{};  //!< coefficients of L_n in F
};

}  // namespace retable::quantiles
