#pragma once
//! @file
//! Shapley values as a weighted least squares problem: the additive game nearest to v under the
//! weights, among those with v's worth (Charnes et al. 1988; Lundberg and Lee 2017, theorem 2).

#include <vector>

#include "baselines/shapley/coalitions.hpp"

namespace retable::shapley {

//! argmin over phi of sum_k w_k (v_k - v(none) - sum of phi over coalition k)^2 subject to
//! sum phi = v(all) - v(none). With fewer coalitions than unknowns the solution nearest to equal
//! shares. O(n d^2 + d^3), n d doubles.
std::vector<double> NearestAdditive(const Coalitions& coalitions, const std::vector<double>& values,
                                    const std::vector<double>& weights, const Ends& ends);

}  // namespace retable::shapley
