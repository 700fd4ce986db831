//! @file
//! Every sampler of permutations as an estimator of Shapley values.

#include <algorithm>

#include "algorithms/common/require.hpp"
#include "algorithms/shapley/greedy/options.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {

std::int64_t ShapleyEstimator::budget_for(int, std::int64_t evaluations) const {
  return evaluations / 2;
}

ShapleyEstimate ShapleyEstimator::estimate(const Game& game, std::int64_t budget,
                                           std::uint64_t seed) const {
  const int d = game.dimension();
  const std::int64_t least = least_budget(d);
  Require(budget >= least, "a budget of ", budget, " for ", d,
          " players: this method needs at least ", least);
  return Compute(game, d, budget, seed);
}

ShapleyEstimate EstimateFromPermutations(const Game& game, const PermutationSample& sample) {
  const int d = game.dimension();
  Require(sample.dimension == d, "permutations of ", sample.dimension, " players for a game of ",
          d);
  ShapleyEstimate estimate{std::vector<double>(static_cast<std::size_t>(d), 0.0), 0};
  constexpr std::size_t kTogether = 128;  // walks asked for at a time
  const auto width = static_cast<std::size_t>(d), steps = width + 1;
  std::vector<double> values(std::min(kTogether, sample.count()) * steps);
  for (std::size_t from = 0; from < sample.count(); from += kTogether) {
    const std::size_t here = std::min(kTogether, sample.count() - from);
    WalksChecked(game, std::span(sample.orders).subspan(from * width, here * width),
                 std::span(values).first(here * steps));
    for (std::size_t i = 0; i < here; ++i) {
      const auto order = sample.order(from + i);
      const double* v = values.data() + i * steps;
      for (std::size_t k = 0; k < width; ++k) {
        estimate.values[static_cast<std::size_t>(order[k])] +=
            sample.weight(from + i) * (v[k + 1] - v[k]);
      }
    }
  }
  estimate.evaluations = static_cast<std::int64_t>(sample.count() * steps);
  return estimate;
}

std::int64_t PermutationBudget(int d, std::int64_t evaluations) {
  return d == 1 ? evaluations : (evaluations - 2) / (2 * (d - 1)) * (d + 1);
}

namespace {

class PermutationEstimator final : public ShapleyEstimator {
 public:
  explicit PermutationEstimator(std::unique_ptr<PermutationSampler> sampler)
      : sampler_(std::move(sampler)) {}
  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    return PermutationBudget(d, evaluations);
  }
  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
    return EstimateFromPermutations(game, sampler_->sample(n, d, seed));
  }

 private:
  std::unique_ptr<PermutationSampler> sampler_;
};

Method<ShapleyEstimator> Wrap(const std::string& name, std::vector<ParameterInfo> parameters) {
  return {.name = name,
          .summary = "marginal contributions along the permutations of " + name,
          .citation = "Castro et al. 2009; Mitchell et al. 2022, equation 3",
          .parameters = std::move(parameters),
          .make = [name](const Parameters& p) {
            return std::make_unique<PermutationEstimator>(
                Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, p));
          }};
}

[[maybe_unused]] const bool registered = [] {
  auto& registry = Registry<ShapleyEstimator>::Instance();
  for (const char* name : {"MC", "MC-antithetic", "Orthogonal"}) registry.Add(Wrap(name, {}));
  registry.Add(Wrap("Sobol", {{"relabel", false, "players renamed at random"}}));
  registry.Add(
      Wrap("Foldover-descent", {{"lambda", 4.0, "of the Mallows kernel that is descended"},
                                {"sweeps", std::int64_t{100}, "most sweeps over all neighbours"},
                                {"weighted", false, "weights of least discrepancy"}}));
  for (const char* name : {"Herding", "SBQ"}) registry.Add(Wrap(name, GreedyParameters()));
  return true;
}();

}  // namespace
}  // namespace retable::shapley
