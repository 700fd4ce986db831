#pragma once
//! @file
//! How far a weighted set of permutations is from the uniform distribution, in a kernel's space.
//!
//! D^2 = E K(s, s') - 2 sum_t w_t E K(t, s) + sum_{t,t'} w_t w_t' K(t, t'), expectations in closed
//! form: the worst error of the weighted mean over functions of norm one (Koksma-Hlawka). Mitchell
//! et al. 2022, equation 8. O(n^2) kernel values, O(n) codes of memory.

#include "algorithms/shapley/kernel.hpp"

namespace retable::shapley {

//! D, not squared. 0 at least: rounding below is cut off. @throws std::invalid_argument when empty.
double Discrepancy(const PermutationSample& sample, const PermutationKernel& kernel);

}  // namespace retable::shapley
