#pragma once
//! @file
//! Solvers of the maximum-entropy dual (dual_problem.hpp): one problem, or many at once.
//!
//! Approach: dual_newton.hpp, one code for a CPU core (eight nodes a step) and for a GPU warp
//! (cuda/max_entropy_dual.hpp). Same bits on every CPU; a GPU rounds its sums differently.

#include <functional>
#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual_problem.hpp"

namespace retable::quantiles {

//! One problem on this thread: 20 to 500 us.
DualAnswer SolveDual(const DualProblem& problem);

//! exp(theta_0 + sum theta_k T_k(t)), k <= order.
double DualDensity(const DualAnswer& answer, int order, double t);

//! The masses at the nodes, in their order.
std::vector<double> DualMasses(const DualProblem& problem, const DualAnswer& answer);

//! Solves many problems; answers in the order of the problems.
using DualSolver = std::function<std::vector<DualAnswer>(std::span<const DualProblem>)>;

//! On `threads` CPU threads; 1 is this thread. @throws std::invalid_argument unless threads >= 1.
DualSolver CpuDualSolver(int threads);

}  // namespace retable::quantiles
