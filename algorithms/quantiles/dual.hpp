#pragma once
//! @file
//! The maximum-entropy dual over any set of nodes.
//!
//! Problem: given nodes t_j in [-1, 1] with positive weights, and Chebyshev moments mu_1..mu_l,
//! find the masses p_j proportional to w_j exp(sum_k theta_k T_k(t_j)) with sum_j p_j T_k(t_j) =
//! mu_k. With quadrature nodes this is the density of maximum entropy, with the places where mass
//! can be (the whole numbers of a range) the discrete distribution of maximum entropy.
//!
//! Approach: Newton on the convex dual (Mitchell et al. 2021, eq. 6) with theta_0 eliminated,
//!     L(theta) = log sum_j w_j exp(sum_{k>=1} theta_k T_k(t_j)) - sum_{k>=1} theta_k mu_k,
//! whose minimum is that of eq. 6 and which cannot overflow. The Hessian is the covariance of
//! T_1..T_l, from 2l moments by T_i T_j = (T_{i+j} + T_{|i-j|}) / 2; the step is a Cholesky solve
//! with a ridge that grows until the factor is sound; Armijo's rule halves it.
//!
//! Data with few distinct values have their moments on the boundary of the moment space: the dual
//! has no minimum, and Newton's model, which sees only where mass still is, would starve places
//! that are needed later. So no step may change a log-density by more than a limit, 4 at first and
//! 3 % more each time. The iterates then tend to the atoms while the gradient tends to zero; the
//! fit keeps the iterate of the smallest gradient. Moments outside of the moment space leave a
//! gradient that does not shrink: `residual` says so.
//!
//! Complexity: N (3 l + 1 exp) + l^3 / 6 operations an iteration, 1 to 200 iterations.
//! Deterministic.

#include <array>
#include <vector>

#include "algorithms/quantiles/power_sums.hpp"

namespace retable::quantiles {

//! Moments of order 0..15.
using Moments = std::array<double, kMaxOrder + 1>;

//! Nodes with weights, and T_0..T_30 at the nodes.
class NodeTable {
 public:
  NodeTable(std::vector<double> nodes, std::vector<double> weights);
  const std::vector<double>& nodes() const { return nodes_; }
  const std::vector<double>& weights() const { return weights_; }
  //! T_k at all nodes, for k = 0..30, one column after the other.
  const std::vector<double>& chebyshev() const { return chebyshev_; }

 private:
  std::vector<double> nodes_;
  std::vector<double> weights_;
  std::vector<double> chebyshev_;
};

struct DualFit {
  Moments theta{};           //!< theta_0 = -log of the normaliser
  std::vector<double> mass;  //!< p_j
  double residual = 0;       //!< largest |sum_j p_j T_k(t_j) - mu_k|, k = 1..order
  double dual = 0;           //!< L(theta): the entropy where the fit converged
  int iterations = 0;
};

//! Fits mu[0..order], mu[0] = 1, all finite. 0 <= order <= 15; order 0 is the weights themselves.
DualFit FitDual(const NodeTable& table, const Moments& mu, int order);

}  // namespace retable::quantiles
