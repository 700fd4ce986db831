#pragma once
//! @file
//! The contract of an estimator: a game and a budget in, Shapley values out.
//!
//! The budget counts marginal evaluations v(S + i) - v(S), the horizontal axis of Mitchell et al.
//! 2022, each of which may ask the game for two values. A method that walks permutations shares
//! values between neighbours: 2 floor(budget / (d + 1)) permutations of d + 1 values each.

#include <cstdint>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/shapley/games/game.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"

namespace retable::shapley {

struct ShapleyEstimate {
  std::vector<double> values;    //!< one per player
  std::int64_t evaluations = 0;  //!< values asked of the game, repeated coalitions included
};

//! A method of approximation. Results are a pure function of (game, budget, seed).
class ShapleyEstimator {
 public:
  virtual ~ShapleyEstimator() = default;
  //! The smallest budget the method can work with: here that of two walks.
  virtual std::int64_t least_budget(int d) const { return d + 1; }
  //! The largest budget for which at most `evaluations` different coalitions are asked for, when
  //! values are kept; here two values a marginal.
  virtual std::int64_t budget_for(int d, std::int64_t evaluations) const;
  //! @throws std::invalid_argument for a budget below least_budget(d), or a game with values that
  //! are not finite.
  ShapleyEstimate estimate(const Game& game, std::int64_t budget, std::uint64_t seed) const;

 protected:
  //! estimate() of a game of d players, the budget checked.
  virtual ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                                  std::uint64_t seed) const = 0;
};

//! Marginal contributions along each order, weighted: equation 3. Weights of sum one make the
//! estimate efficient. One walk of the game for each order.
ShapleyEstimate EstimateFromPermutations(const Game& game, const PermutationSample& sample);

//! budget_for() of a method that walks pairs of orders: two orders have the empty and the full
//! coalition and 2 (d - 1) others.
std::int64_t PermutationBudget(int d, std::int64_t evaluations);

}  // namespace retable::shapley
