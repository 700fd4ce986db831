//! @file
//! Squared error of Shapley value estimates by different coalitions asked for: what an estimate
//! costs when the values of a game are kept.
//!
//! A cell gives every method the largest budget with which it asks for at most per_player * d
//! different coalitions: budget_for's, and where a method comes upon the same coalitions again and
//! again more, found by counting over a few seeds. Values asked for, different coalitions among
//! them and marginal evaluations are counted apart. Seconds are of one estimate on one thread,
//! without the counting; games of at most 14 players are tables, so there they are the method's
//! own. Only problems with exact values.

#include <algorithm>
#include <chrono>
#include <cmath>

#include "algorithms/shapley/shapley_estimator.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/resident_program.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using shapley::ShapleyEstimator;

class UniqueProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/unique"; }
  std::string summary() const override {
    return "squared error of Shapley value estimates on tables, by different coalitions";
  }
  Names metrics() const override { return {"mse", "unique", "evaluations", "time"}; }
  Algorithms algorithms() const override { return ListMethods<ShapleyEstimator>(); }
  Specs axes() const override {
    return {{"per_player", std::int64_t{16}, "different coalitions for each player"},
            {"rows_behind", std::int64_t{100}, "background rows"}};
  }
  Specs settings() const override { return TabularSettings(); }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }
  Reason unsupported(const Cell& cell) const override { return WhyNotExternal(cell); }

  Outcome measure(const Cell& cell) override {
    harness::CellConfig of_problem = cell;
    of_problem.settings["background"] = IntegerOf(cell.axes, "rows_behind");
    const Problem problem = MakeTabularProblem(of_problem);
    if (problem.exact.empty()) return Skipped("there are no exact values to compare with");
    const int d = problem.features;
    const std::int64_t allowed = IntegerOf(cell.axes, "per_player") * d;
    if (d < 62 && allowed >= (std::int64_t{1} << d)) {
      return Skipped("all " + std::to_string(std::int64_t{1} << d) +
                     " coalitions are within the budget: the values are exact");
    }
    const auto estimator = MakeMethod<ShapleyEstimator>(cell);
    const std::int64_t surely = estimator->budget_for(d, allowed);
    if (surely < estimator->least_budget(d)) {
      return Skipped("needs a budget of " + std::to_string(estimator->least_budget(d)) +
                     " marginal evaluations at least");
    }
    harness::Outcome outcome;
    outcome.facts = problem.facts;
    outcome.facts["allowed"] = allowed;
    outcome.verification = problem.agreement();
    if (!outcome.verification.ok) return outcome;
    const std::int64_t budget =
        FittedBudget(*problem.games[0], *estimator, surely, allowed, cell.seed);
    outcome.facts["budget"] = budget;
    Repeat(cell, problem, *estimator, budget, allowed, outcome);
    return outcome;
  }

 private:
  static std::uint64_t SeedOf(std::int64_t seed, std::int64_t repeat) {
    return static_cast<std::uint64_t>(seed * 1000003 + repeat * 1009);
  }

  // From a budget that is surely allowed to the largest that is on the first seeds. An estimate's
  // coalitions do not depend on the game's values, but for Stratified.
  static std::int64_t FittedBudget(const shapley::Game& game, const ShapleyEstimator& estimator,
                                   std::int64_t surely, std::int64_t allowed, std::int64_t seed) {
    const auto fits = [&](std::int64_t budget) {
      for (std::int64_t repeat = 0; repeat < kCounted; ++repeat) {
        const shapley::CountingGame counted(game);
        estimator.estimate(counted, budget, SeedOf(seed, repeat));
        if (counted.unique() > allowed) return false;
      }
      return true;
    };
    const shapley::CountingGame once(game);
    estimator.estimate(once, surely, SeedOf(seed, 0));
    if (once.unique() == once.evaluations()) return surely;  // nothing comes twice
    const std::int64_t step = game.dimension() + 1;
    std::int64_t low = 0, high = (4 * allowed - surely) / step + 1;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (fits(surely + middle * step) ? low : high) = middle;
    }
    return surely + low * step;
  }

  static void Repeat(const harness::CellConfig& cell, const Problem& problem,
                     const ShapleyEstimator& estimator, std::int64_t budget, std::int64_t allowed,
                     harness::Outcome& outcome) {
    using Clock = std::chrono::steady_clock;
    harness::Metric mse{"mse", "margin^2"}, unique{"unique", "coalitions"};
    harness::Metric asked{"evaluations", "values"}, time{"time", "s"};
    for (std::int64_t repeat = 0; repeat < cell.repeats; ++repeat) {
      const std::uint64_t seed = SeedOf(cell.seed, repeat);
      double squares = 0;
      const auto start = Clock::now();
      for (std::size_t r = 0; r < problem.games.size(); ++r) {
        const auto values = estimator.estimate(*problem.games[r], budget, seed + r).values;
        if (!IsComplete(values, problem.features)) {
          outcome.verification = Incomplete();
          return;
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
          squares += std::pow(values[i] - problem.exact[r][i], 2);
        }
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const auto games = static_cast<double>(problem.games.size());
      mse.samples.push_back(squares / (games * problem.features));
      time.samples.push_back(seconds / games);
      if (repeat >= kCounted) continue;
      const shapley::CountingGame counted(*problem.games[0]);
      estimator.estimate(counted, budget, seed);
      unique.samples.push_back(static_cast<double>(counted.unique()));
      asked.samples.push_back(static_cast<double>(counted.evaluations()));
    }
    // The budget fits the coalitions of the first seeds; those of others differ a little.
    const auto spent = AtMost("different coalitions",
                              *std::max_element(unique.samples.begin(), unique.samples.end()),
                              1.1 * static_cast<double>(allowed), "those allowed, and a tenth");
    if (!spent.ok) {
      outcome.verification = spent;
      return;
    }
    outcome.metrics = {mse, unique, asked, time};
    // Each value asked for is looked up at least.
    outcome.costs = CostsOf({{"gather", asked.samples.front()}}, 1);
  }

  static constexpr std::int64_t kCounted = 5;  // repeats whose coalitions are counted
};

RETABLE_PROTOCOL(UniqueProtocol);

}  // namespace
}  // namespace retable::experiments
