#include "retable/shapley.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "algorithms/common/method_by_name.hpp"
#include "algorithms/shapley/games/game.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"
#include "base/parallel.hpp"

namespace retable {

namespace {

template <class Interface>
std::vector<MethodSummary> Summaries() {
  std::vector<MethodSummary> found;
  for (const auto& method : Registry<Interface>::Instance().Methods()) {
    if (method.device == Device::kCpu) {
      found.push_back({method.name, method.summary, method.citation});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

template <class Interface>
std::unique_ptr<Interface> MakeMethod(const std::string& name, const Parameters& options) {
  MethodByName<Interface>("method", name, Device::kCpu);
  return Registry<Interface>::Instance().Make(name, Device::kCpu, options);
}

// Hands coalitions of all walks on at once: a model predicts many rows in one call.
class CallbackGame final : public shapley::Game {
 public:
  CallbackGame(int players, const CoalitionValues& values) : players_(players), values_(values) {
    if (players < 1 || players > 65535) {
      throw std::invalid_argument("a game has 1 to 65535 players, not " + std::to_string(players));
    }
  }
  int dimension() const override { return players_; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    Check();
    const std::lock_guard guard(mutex_);
    // What the function leaves out is found as a value that is not finite.
    std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
    values_(coalitions, values);
  }
  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override {
    evaluate(shapley::Prefixes(orders, players_), values);
  }

 private:
  int players_;
  const CoalitionValues& values_;
  mutable std::mutex mutex_;
};

std::vector<double> Finite(std::vector<double> values) {
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) {
    throw std::invalid_argument("sums of the game's values are beyond the range of a double");
  }
  return values;
}

}  // namespace

std::vector<MethodSummary> PermutationMethods() {
  return Summaries<shapley::PermutationSampler>();
}

std::vector<MethodSummary> EstimatorMethods() {
  return Summaries<shapley::ShapleyEstimator>();
}

PermutationSet SamplePermutations(int players, std::size_t n, const std::string& method,
                                  std::uint64_t seed, const MethodOptions& options) {
  const auto sampler = MakeMethod<shapley::PermutationSampler>(method, options);
  shapley::PermutationSample sample = sampler->sample(n, players, seed);
  if (sample.weights.empty()) sample.weights.assign(n, n == 0 ? 0 : 1 / static_cast<double>(n));
  return {players, std::move(sample.orders), std::move(sample.weights)};
}

ShapleyValues EstimateShapley(int players, const CoalitionValues& game,
                              const ShapleyOptions& options) {
  if (options.repeats < 1) throw std::invalid_argument("repeats is less than 1");
  const auto estimator = MakeMethod<shapley::ShapleyEstimator>(options.method, options.options);
  const CallbackGame called(players, game);
  const std::int64_t each = options.budget / options.repeats;
  if (const std::int64_t least = estimator->least_budget(players); each < least) {
    throw std::invalid_argument("a budget of " + std::to_string(options.budget) + " is " +
                                std::to_string(each) + " for each of " +
                                std::to_string(options.repeats) + " repeats: " + options.method +
                                " needs " + std::to_string(least));
  }
  const auto d = static_cast<std::size_t>(players);
  const auto repeats = static_cast<double>(options.repeats);
  ShapleyValues all;
  std::vector<double> spread(d, 0.0);  // roots of sums of squares, which may leave double's range
  all.values.assign(d, 0.0);
  for (int r = 0; r < options.repeats; ++r) {
    const shapley::ShapleyEstimate one =
        estimator->estimate(called, each, options.seed + static_cast<std::uint64_t>(r));
    all.evaluations += one.evaluations;
    for (std::size_t i = 0; i < d; ++i) {
      const double step = one.values[i] - all.values[i];  // Welford's sums
      all.values[i] += step / (r + 1);
      spread[i] = std::hypot(spread[i], step * std::sqrt(r / (r + 1.0)));
    }
  }
  all.values = Finite(std::move(all.values));
  if (options.repeats > 1) {
    for (const double root : spread) {
      all.standard_errors.push_back(root / std::sqrt((repeats - 1) * repeats));
    }
    all.standard_errors = Finite(std::move(all.standard_errors));
  }
  return all;
}

std::vector<double> ExactShapley(int players, const CoalitionValues& game) {
  return Finite(shapley::ExactShapleyValues(CallbackGame(players, game)));
}

}  // namespace retable
