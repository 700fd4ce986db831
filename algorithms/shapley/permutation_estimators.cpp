//! @file
//! Every sampler of permutations as an estimator of Shapley values.

#include <algorithm>
#include <stdexcept>

#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {

void CheckBudget(const ShapleyEstimator& estimator, int d, std::int64_t budget) {
  const std::int64_t least = estimator.least_budget(d);
  if (budget < least) {
    throw std::invalid_argument("a budget of " + std::to_string(budget) + " for " +
                                std::to_string(d) + " players: this method needs at least " +
                                std::to_string(least));
  }
}

ShapleyEstimate EstimateFromPermutations(const Game& game, const PermutationSample& sample) {
  const int d = game.dimension();
  if (sample.dimension != d) {
    throw std::invalid_argument("permutations of " + std::to_string(sample.dimension) +
                                " players for a game of " + std::to_string(d));
  }
  const std::size_t words = CoalitionWords(d), steps = static_cast<std::size_t>(d) + 1;
  const std::size_t batch = std::max<std::size_t>(1, 4096 / steps);
  ShapleyEstimate estimate{std::vector<double>(static_cast<std::size_t>(d), 0.0), 0};
  std::vector<std::uint64_t> coalitions;
  std::vector<double> v;
  for (std::size_t from = 0; from < sample.count(); from += batch) {
    const std::size_t to = std::min(from + batch, sample.count());
    coalitions.assign((to - from) * steps * words, 0);
    v.resize((to - from) * steps);
    std::uint64_t* at = coalitions.data();
    for (std::size_t i = from; i < to; ++i) {
      at += words;  // the empty coalition
      for (const std::int32_t player : sample.order(i)) {
        std::copy(at - words, at, at);
        at[player / 64] |= std::uint64_t{1} << (player % 64);
        at += words;
      }
    }
    EvaluateChecked(game, coalitions, v);
    for (std::size_t i = from; i < to; ++i) {
      const double* values = v.data() + (i - from) * steps;
      const auto order = sample.order(i);
      for (std::size_t k = 0; k < order.size(); ++k) {
        estimate.values[static_cast<std::size_t>(order[k])] +=
            sample.weight(i) * (values[k + 1] - values[k]);
      }
    }
    estimate.evaluations += static_cast<std::int64_t>(v.size());
  }
  return estimate;
}

namespace {

class PermutationEstimator final : public ShapleyEstimator {
 public:
  explicit PermutationEstimator(std::unique_ptr<PermutationSampler> sampler)
      : sampler_(std::move(sampler)) {}
  std::int64_t least_budget(int d) const override { return d + 1; }
  ShapleyEstimate estimate(const Game& game, std::int64_t budget,
                           std::uint64_t seed) const override {
    const int d = game.dimension();
    CheckBudget(*this, d, budget);
    const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
    return EstimateFromPermutations(game, sampler_->sample(n, d, seed));
  }

 private:
  std::unique_ptr<PermutationSampler> sampler_;
};

Method<ShapleyEstimator> Wrap(const std::string& name, std::vector<ParameterInfo> parameters) {
  Method<ShapleyEstimator> method;
  method.name = name;
  method.summary = "marginal contributions along the permutations of " + name;
  method.citation = "Castro et al. 2009; Mitchell et al. 2022, equation 3";
  method.parameters = std::move(parameters);
  method.make = [name](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
    return std::make_unique<PermutationEstimator>(
        Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, p));
  };
  return method;
}

std::vector<ParameterInfo> GreedyParameters() {
  return {{"kernel", std::string("Mallows"), "Mallows, Kendall or Spearman"},
          {"lambda", 4.0, "of the Mallows kernel"},
          {"candidates", std::int64_t{25}, "random permutations to choose from at each step"}};
}

[[maybe_unused]] const bool registered = [] {
  auto& registry = Registry<ShapleyEstimator>::Instance();
  for (const char* name : {"MC", "MC-antithetic", "Orthogonal", "Sobol"}) {
    registry.Add(Wrap(name, {}));
  }
  registry.Add(
      Wrap("Foldover-descent", {{"lambda", 4.0, "of the Mallows kernel that is descended"},
                                {"sweeps", std::int64_t{100}, "most sweeps over all neighbours"},
                                {"weighted", false, "weights of least discrepancy"}}));
  for (const char* name : {"Herding", "SBQ"}) registry.Add(Wrap(name, GreedyParameters()));
  return true;
}();

}  // namespace
}  // namespace retable::shapley
