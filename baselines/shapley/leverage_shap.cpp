//! @file
//! Leverage SHAP: the least squares problem of Shapley values on coalitions taken by their
//! leverage.
//!
//! The leverage of a coalition of s players is 1 / C(d, s), so all sizes are taken equally often:
//! outer sizes completely, inner ones at random; pairs of complements, without replacement. Each
//! counts by its Shapley kernel over the probability to take it. Consistent, exact once all
//! coalitions are paid for; the bias for fewer is of the order of the variance. O(m d^2) for m
//! coalitions. Musco and Witter 2025, algorithm 1.

#include "baselines/shapley/least_squares.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kLeverageShapStream = 8;

class LeverageShap final : public ShapleyEstimator {
 public:
  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const auto design = TakePairs(
        d, PairsOfBudget(budget), [](int) { return 1.0; }, seed, kLeverageShapStream);
    const Ends ends = EndValues(game);
    const auto values = Values(game, design.coalitions);
    return {NearestAdditive(design.coalitions, values, design.KernelWeights(), ends),
            static_cast<std::int64_t>(values.size()) + 2};
  }
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, leverage_shap,
                 {.name = "LeverageSHAP",
                  .summary = "weighted least squares on coalitions of all sizes equally often",
                  .citation = "Musco and Witter 2025, algorithm 1",
                  .make = [](const Parameters&) { return std::make_unique<LeverageShap>(); }});

}  // namespace retable::shapley
