#pragma once
//! @file
//! How far a weighted set of permutations is from the uniform distribution, in a kernel's space.
//!
//! D^2 = E K(s, s') - 2 sum_t w_t E K(t, s) + sum_{t,t'} w_t w_t' K(t, t'), expectations in closed
//! form: the worst error of the weighted mean over functions of norm one (Koksma-Hlawka). Mitchell
//! et al. 2022, equation 8. O(n^2) kernel values, O(n) codes of memory.

#include "algorithms/shapley/kernels/permutation_kernel.hpp"

namespace retable::shapley {

//! D, not squared. 0 at least: rounding below is cut off. @throws std::invalid_argument when empty.
double Discrepancy(const PermutationSample& sample, const PermutationKernel& kernel);

//! The weights of sum one that minimise the discrepancy of the sample's orders: K^-1 1 / (1' K^-1
//! 1) with a ridge of 1e-8 K(s, s), since the kernel's mean is the same for every order. Bayesian
//! quadrature of any set of points. O(n^3), n^2 doubles.
std::vector<double> OptimalWeights(const PermutationSample& sample,
                                   const PermutationKernel& kernel);

}  // namespace retable::shapley
