#pragma once
//! @file
//! The maximum-entropy dual as data: what a solver takes and what it answers.
//!
//! Problem: given nodes t_j in [-1, 1] with positive weights, and Chebyshev moments mu_1..mu_l,
//! find the masses p_j proportional to w_j exp(sum_k theta_k T_k(t_j)) with sum_j p_j T_k(t_j) =
//! mu_k. With quadrature nodes this is the density of maximum entropy; with lattice points (the
//! whole numbers of a range) it is the discrete distribution of maximum entropy.

#include <array>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

//! Moments of order 0..15.
using Moments = std::array<double, kMaxOrder + 1>;

//! Most points of a lattice in a dual.
inline constexpr int kMaxLatticePoints = 1024;

struct DualProblem {
  Moments mu{};    //!< mu[0] = 1; all finite
  int order = 0;   //!< 0..15; 0 is the weights themselves
  int points = 0;  //!< 0: nodes of quadrature.hpp; else lattice points, at most kMaxLatticePoints
  double first = 0;
  double step = 0;  //!< Lattice point i is first + i step.
};

struct DualAnswer {
  Moments theta{};      //!< theta_0 = -log of the normaliser
  double residual = 0;  //!< largest |sum_j p_j T_k(t_j) - mu_k|, k = 1..order
  double dual = 0;      //!< L(theta): the entropy where the fit converged
  int iterations = 0;
};

}  // namespace retable::quantiles
