#pragma once
//! @file
//! The maximum-entropy dual: one problem, or many at once.
//!
//! Problem: given nodes t_j in [-1, 1] with positive weights, and Chebyshev moments mu_1..mu_l,
//! find the masses p_j proportional to w_j exp(sum_k theta_k T_k(t_j)) with sum_j p_j T_k(t_j) =
//! mu_k. With quadrature nodes this is the density of maximum entropy, with the places where mass
//! can be (the whole numbers of a range) the discrete distribution of maximum entropy.
//!
//! Approach: dual_newton.hpp, one code for a CPU core (eight nodes a step) and for a GPU warp
//! (cuda/max_entropy_dual.hpp). Same bits on every CPU; a GPU rounds its sums differently.

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

//! Moments of order 0..15.
using Moments = std::array<double, kMaxOrder + 1>;

//! Most places a lattice may have.
inline constexpr int kMaxPlaces = 1024;

struct DualProblem {
  Moments mu{};    //!< mu[0] = 1; all finite
  int order = 0;   //!< 0..15; 0 is the weights themselves
  int places = 0;  //!< 0: the density of maximum entropy, over the nodes of quadrature.hpp;
                   //!< else the places first + i step, i = 0..places-1, at most kMaxPlaces
  double first = 0;
  double step = 0;
};

struct DualAnswer {
  Moments theta{};      //!< theta_0 = -log of the normaliser
  double residual = 0;  //!< largest |sum_j p_j T_k(t_j) - mu_k|, k = 1..order
  double dual = 0;      //!< L(theta): the entropy where the fit converged
  int iterations = 0;
};

//! One problem on this thread: 20 to 500 us.
DualAnswer SolveDual(const DualProblem& problem);

//! The masses at the nodes, in their order.
std::vector<double> DualMasses(const DualProblem& problem, const DualAnswer& answer);

//! Solves many problems; answers in the order of the problems.
using DualSolver = std::function<std::vector<DualAnswer>(std::span<const DualProblem>)>;

//! On `threads` CPU threads; 1 is this thread. @throws std::invalid_argument unless threads >= 1.
DualSolver CpuDualSolver(int threads);

}  // namespace retable::quantiles
