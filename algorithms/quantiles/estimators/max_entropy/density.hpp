#pragma once
//! @file
//! The maximum-entropy density of given Chebyshev moments, and its quantiles.
//!
//! Problem: of all densities on [-1, 1] with E[T_k] = mu_k, k = 1..l, take the one of largest
//! entropy; it is exp(sum_k theta_k T_k(t)) (Mitchell et al. 2021, eq. 5, in the Chebyshev basis).
//!
//! Approach: Newton on the dual (dual.hpp) over the nodes of a quadrature rule.
//!
//! Quadrature: quadrature.hpp. The sums of the panels' masses are the distribution function at
//! their edges; inside a panel it is the integral of the polynomial through the 8 nodes. A quantile
//! takes a table look-up and a few Newton steps on that polynomial.
//!
//! Complexity: that of the dual on 256 nodes. Deterministic.

#include <array>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"
#include "algorithms/quantiles/estimators/max_entropy/quadrature.hpp"

namespace retable::quantiles {

//! A fitted density on [-1, 1].
class MaxEntropyDensity {
 public:
  //! Fits the density of Chebyshev moments mu[0..order], mu[0] = 1, all finite.
  MaxEntropyDensity(const Moments& mu, int order);
  //! The density of a dual that was solved elsewhere, over quadrature nodes (points = 0).
  MaxEntropyDensity(const DualProblem& problem, const DualAnswer& answer);

  //! exp(theta_0 + sum theta_k T_k(t)).
  double Density(double t) const { return DualDensity(fit_, order_, t); }
  //! A t in [-1, 1] with F(t) = phi; -1 for phi <= 0, 1 for phi >= 1. Where the density is narrower
  //! than the distance of a panel's nodes F may decrease there, and t need not ascend with phi.
  double Quantile(double phi) const;
  //! F(t).
  double Cdf(double t) const;

  //! Largest |E[T_k] - mu_k| over k = 1..order.
  double residual() const { return fit_.residual; }

 private:
  int order_;
  DualAnswer fit_;
  std::array<double, kPanels + 1> cdf_{};  //!< F at the panels' edges
  //! Monomial coefficients of F in each panel, mapped to [-1, 1].
  std::array<std::array<double, kPanelNodes + 1>, kPanels> inside_{};
};

}  // namespace retable::quantiles
