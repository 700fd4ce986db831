#pragma once
//! @file
//! Shapley values of any game by sampling: permutations that stand for all of them, and estimates
//! under a budget.
//!
//!     const auto set = retable::SamplePermutations(10, 400, "Sobol", seed);
//!     const auto estimate = retable::EstimateShapley(d, value_of_coalitions, {.budget = 2000});
//!
//! Methods and their papers: algorithms/shapley/README.md; PermutationMethods() and
//! EstimatorMethods() name them. Functions throw std::invalid_argument for arguments that they do
//! not take and for values of a game that are not finite or whose sums are not.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace retable {

//! n orders of d players.
struct PermutationSet {
  int players = 0;  //!< d
  //! n x d, row-major: players from the first to join to the last.
  std::vector<std::int32_t> orders;
  std::vector<double> weights;  //!< n values of sum 1
};

//! The value of a method's option.
using MethodOption = std::variant<bool, std::int64_t, double, std::string>;
//! Options of a method by name (algorithms/shapley/README.md); an unknown name lists them.
using MethodOptions = std::map<std::string, MethodOption>;

//! A method and what it is.
struct MethodSummary {
  std::string name;      //!< what SamplePermutations and EstimateShapley take
  std::string summary;   //!< a phrase
  std::string citation;  //!< its source
};
//! The methods of SamplePermutations.
std::vector<MethodSummary> PermutationMethods();
//! The methods of EstimateShapley.
std::vector<MethodSummary> EstimatorMethods();

//! n orders by the method.
//! @throws std::invalid_argument for an unknown method or option, players outside of 1 .. 65535, or
//! more than 2^40 numbers
PermutationSet SamplePermutations(int players, std::size_t n, const std::string& method,
                                  std::uint64_t seed, const MethodOptions& options = {});

//! The values of coalitions. A coalition is a bit mask of (players + 63) / 64 words; bit i % 64 of
//! word i / 64 is player i. Called with many at a time, from one thread.
using CoalitionValues =
    std::function<void(std::span<const std::uint64_t> coalitions, std::span<double> values)>;

//! How to estimate.
struct ShapleyOptions {
  //! Marginal contributions v(S + i) - v(S) of two values each, over all repeats: at most 2 budget
  //! values are asked for. Methods that walk orders share values between neighbours and get up to
  //! twice the contributions.
  std::int64_t budget = 2000;
  std::string method = "MC-antithetic";  //!< one of EstimatorMethods()
  std::uint64_t seed = 0;                //!< one seed, one estimate
  //! Independent estimates of budget / repeats each; 2 or more give standard errors. Repeat r has
  //! seed + r: estimates are independent where their seeds lie `repeats` apart.
  int repeats = 1;
  MethodOptions options = {};  //!< the method's own
};

//! An estimate.
struct ShapleyValues {
  std::vector<double> values;           //!< one a player
  std::vector<double> standard_errors;  //!< standard errors of the values; empty for one repeat
  std::int64_t evaluations = 0;         //!< values asked of the game
};

//! Shapley values of the game by the method of the options. O(budget) values of the game.
ShapleyValues EstimateShapley(int players, const CoalitionValues& game,
                              const ShapleyOptions& options);

//! From all 2^players coalitions, up to 20 players.
std::vector<double> ExactShapley(int players, const CoalitionValues& game);

}  // namespace retable
