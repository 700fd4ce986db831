//! @file
//! Squared error of Shapley value estimates (Mitchell et al. 2022, sections 5.1 to 5.5 and appendix
//! B): rows explained x features, equation 15, for a budget of marginal evaluations.
//!
//! Against exact values where they are known. Else as the paper does: each trial against the mean
//! of all trials, times n / (n - 1) for n of them, the unbiased estimate of the variance; a bias
//! that all trials share does not show there. A trial of a method of permutations draws them once,
//! for all rows explained. Before anything is measured the games must agree with their models, and
//! exact values with each other.

#include <algorithm>
#include <cmath>

#include "algorithms/shapley/shapley_estimator.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/resident_program.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "experiments/shapley/protocols/sample_check.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using shapley::PermutationSampler;
using shapley::ShapleyEstimator;

// One trial's estimates, game after game.
using Estimates = std::vector<double>;

double MeanSquare(const Estimates& a, const Estimates& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
  return sum / static_cast<double>(a.size());
}

Estimates Mean(const std::vector<Estimates>& trials) {
  Estimates mean(trials.front().size(), 0.0);
  for (const Estimates& trial : trials) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += trial[i] / static_cast<double>(trials.size());
    }
  }
  return mean;
}

// The metrics of a cell's trials; evaluations and different coalitions are one explained row's.
class Trials {
 public:
  explicit Trials(const Problem& problem) : problem_(problem) {}

  // `estimate`: game to estimate, of this trial. @return whether all answers are complete
  template <class Estimate>
  bool Run(const Estimate& estimate) {
    Estimates all;
    const auto append = [&](const shapley::ShapleyEstimate& answer) {
      all.insert(all.end(), answer.values.begin(), answer.values.end());
      return IsComplete(answer.values, problem_.features);
    };
    const shapley::CountingGame counted(*problem_.games[0]);
    if (!append(estimate(counted, 0))) return false;
    evaluations_.samples.push_back(static_cast<double>(counted.evaluations()));
    unique_.samples.push_back(static_cast<double>(counted.unique()));
    for (std::size_t r = 1; r < problem_.games.size(); ++r) {
      if (!append(estimate(*problem_.games[r], r))) return false;
    }
    trials_.push_back(std::move(all));
    return true;
  }

  // A marginal evaluation asks for two values.
  harness::Verification WithinBudget(std::int64_t budget) const {
    return AtMost("values asked for",
                  *std::max_element(evaluations_.samples.begin(), evaluations_.samples.end()),
                  2 * static_cast<double>(budget), "twice the budget");
  }

  std::vector<harness::Metric> Metrics() const {
    harness::Metric mse{"mse", "margin^2"};
    Estimates reference;
    double scale = 1;
    if (problem_.exact.empty()) {
      reference = Mean(trials_);
      scale = static_cast<double>(trials_.size()) / static_cast<double>(trials_.size() - 1);
    } else {
      for (const auto& row : problem_.exact) {
        reference.insert(reference.end(), row.begin(), row.end());
      }
    }
    for (const Estimates& trial : trials_) {
      mse.samples.push_back(scale * MeanSquare(trial, reference));
    }
    return {mse, evaluations_, unique_};
  }

  // The first trial's values of the first game: what a heat map shows.
  harness::Curve FirstValues() const {
    harness::Curve curve{"values"};
    for (int i = 0; i < problem_.features; ++i) {
      curve.x.push_back(i);
      curve.y.push_back(trials_.front()[static_cast<std::size_t>(i)]);
    }
    return curve;
  }

 private:
  const Problem& problem_;
  std::vector<Estimates> trials_;
  harness::Metric evaluations_{"evaluations", "values"};
  harness::Metric unique_{"unique", "coalitions"};
};

// An axis that is a parameter of the method: what figures 13 to 16 vary.
harness::CellConfig WithAxes(harness::CellConfig cell) {
  for (const char* name : {"lambda", "candidates"}) {
    const auto axis = cell.axes.find(name);
    if (axis != cell.axes.end()) cell.parameters[name] = axis->second;
  }
  return cell;
}

std::vector<harness::ParameterSpec> ParameterAxes() {
  return {{"lambda", 4.0, "of the Mallows kernel of the method", true},
          {"candidates", std::int64_t{25}, "to choose each permutation from", true}};
}

harness::Outcome Measure(const harness::CellConfig& asked, const Problem& problem,
                         std::int64_t budget) {
  const harness::CellConfig cell = WithAxes(asked);
  const auto estimator = MakeNearest<ShapleyEstimator>(cell);
  if (const auto least = estimator->least_budget(problem.features); budget < least) {
    return Skipped("needs a budget of " + std::to_string(least) + " at least");
  }
  if (problem.exact.empty() && cell.repeats < 2) {
    throw std::invalid_argument("without exact values the error needs two repeats at least");
  }
  harness::Outcome outcome;
  outcome.verification = problem.agreement();
  outcome.facts = problem.facts;
  outcome.facts["budget"] = budget;
  if (!outcome.verification.ok) return outcome;
  std::unique_ptr<PermutationSampler> sampler;
  if (Registry<PermutationSampler>::Instance().Find(cell.algorithm, Device::kCpu) != nullptr) {
    sampler = MakeNearest<PermutationSampler>(cell);
  }
  Trials trials(problem);
  for (std::int64_t repeat = 0; repeat < cell.repeats; ++repeat) {
    const auto seed = static_cast<std::uint64_t>(cell.seed * 1000003 + repeat * 1009);
    bool complete = false;
    if (sampler) {
      const auto n = static_cast<std::size_t>(2 * (budget / (problem.features + 1)));
      const auto sample = sampler->sample(n, problem.features, seed);
      if (const auto broken = Broken(sample, n, problem.features); broken > 0) {
        outcome.verification = NoneBroken(broken);
        return outcome;
      }
      complete = trials.Run([&](const shapley::Game& game, std::size_t) {
        return shapley::EstimateFromPermutations(game, sample);
      });
    } else {
      complete = trials.Run([&](const shapley::Game& game, std::size_t r) {
        return estimator->estimate(game, budget, seed + r);
      });
    }
    if (!complete) {
      outcome.verification = Incomplete();
      return outcome;
    }
  }
  if (const auto spent = trials.WithinBudget(budget); !spent.ok) {
    outcome.verification = spent;
    return outcome;
  }
  outcome.metrics = trials.Metrics();
  if (problem.games.size() == 1) outcome.curves = {trials.FirstValues()};
  return outcome;
}

// The budget at which a method of permutations draws this many (an even number).
std::int64_t BudgetOf(std::int64_t permutations, int features) {
  return (permutations + 1) / 2 * (features + 1);
}

class ErrorProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/error"; }
  std::string summary() const override {
    return "squared error of Shapley value estimates on tables, by marginal evaluations";
  }
  Names metrics() const override { return {"mse", "evaluations", "unique"}; }
  Algorithms algorithms() const override { return OnBothDevices(ListMethods<ShapleyEstimator>()); }
  Specs axes() const override {
    auto axes = ParameterAxes();
    axes.push_back(
        {"budget", std::int64_t{1000}, "marginal evaluations for one explained row", true});
    return axes;
  }
  Specs settings() const override {
    auto settings = TabularSettings();
    settings.push_back({"permutations", std::int64_t{0},
                        "a budget of so many permutations instead of the axis; 0: the axis"});
    return settings;
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }
  Reason unsupported(const Cell& cell) const override { return WhyNotExternal(cell); }
  Outcome measure(const Cell& cell) override {
    const Problem problem = MakeTabularProblem(cell);
    const std::int64_t permutations = IntegerOf(cell.settings, "permutations");
    return Measure(cell, problem,
                   permutations > 0 ? BudgetOf(permutations, problem.features)
                                    : IntegerOr(cell.axes, "budget", 1000));
  }
};

class ImageErrorProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/image_error"; }
  std::string summary() const override {
    return "squared error of Shapley value estimates of image tiles, by permutations";
  }
  Names metrics() const override { return {"mse", "evaluations", "unique"}; }
  Algorithms algorithms() const override { return OnBothDevices(ListMethods<ShapleyEstimator>()); }
  Specs axes() const override {
    auto axes = ParameterAxes();
    axes.push_back(
        {"image", std::int64_t{0}, "which of the test images, in the order of rows_seed", true});
    axes.push_back({"orders", std::int64_t{0}, "permutations of a trial; 0: the setting", true});
    return axes;
  }
  Specs settings() const override {
    return {{"permutations", std::int64_t{100}, "of a trial"},
            {"rows_seed", std::int64_t{1}, "chooses the images"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveImages(dataset); }
  Reason unsupported(const Cell& cell) const override { return WhyNoNetwork(cell.device); }
  Outcome measure(const Cell& cell) override {
    const Problem problem =
        MakeImageProblem(cell.device, cell.dataset, IntegerOr(cell.axes, "image", 0),
                         IntegerOf(cell.settings, "rows_seed"));
    const std::int64_t orders = IntegerOr(cell.axes, "orders", 0);
    return Measure(
        cell, problem,
        BudgetOf(orders > 0 ? orders : IntegerOf(cell.settings, "permutations"), problem.features));
  }
};

RETABLE_PROTOCOL(ErrorProtocol);
RETABLE_PROTOCOL(ImageErrorProtocol);

}  // namespace
}  // namespace retable::experiments
