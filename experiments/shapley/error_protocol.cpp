//! @file
//! Squared error of Shapley value estimates for boosted trees (Mitchell et al. 2022, sections 5.1
//! and 5.2): foreground rows x features against exact values, equation 15, for a budget of marginal
//! evaluations.
//!
//! The model is trained on the whole data set, as in the paper (boosted_trees.hpp). Foreground and
//! background rows are drawn once, by the setting `rows_seed`, the foreground outside of the
//! background. Exact values come from the tree family's interventional explainer; before anything
//! is measured they must agree with the game's own closed form, and the games' full coalition with
//! the model's prediction.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "algorithms/shapley/shapley_estimator.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "experiments/common/glue.hpp"
#include "experiments/shapley/boosted_trees.hpp"
#include "experiments/shapley/tree_game.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeExplainer;
using shapley::Game;
using shapley::ShapleyEstimator;

struct Problem {
  TreeEnsemble model;
  bool logistic = false;
  std::size_t columns = 0;
  std::vector<float> foreground, background;

  RowBlock Foreground() const { return {foreground, foreground.size() / columns, columns}; }
  RowBlock Background() const { return {background, background.size() / columns, columns}; }
};

bool TwoClasses(std::span<const float> targets) {
  const std::set<float> values(targets.begin(), targets.end());
  return values == std::set<float>{0.0f, 1.0f};
}

Problem MakeProblem(const harness::CellConfig& cell) {
  const auto frame = LoadData(cell.dataset);
  if (!frame.target) throw std::invalid_argument("\"" + cell.dataset + "\" has no target column");
  const auto rows = frame.RowMajor();
  Problem problem;
  problem.columns = frame.columns.size();
  const RowBlock block{rows, static_cast<std::size_t>(frame.rows), problem.columns};
  BoostingOptions options;
  options.rounds = static_cast<int>(IntegerOf(cell.settings, "rounds"));
  options.depth = static_cast<int>(IntegerOf(cell.settings, "depth"));
  options.logistic = problem.logistic = TwoClasses(frame.target->values);
  problem.model = TrainBoostedTrees(block, frame.target->values, options);
  const auto front = static_cast<std::size_t>(IntegerOf(cell.settings, "foreground"));
  const auto back = static_cast<std::size_t>(IntegerOf(cell.settings, "background"));
  if (front < 1 || back < 1 || front + back > block.rows || block.rows > 65535) {
    throw std::invalid_argument("foreground and background need " + std::to_string(front + back) +
                                " of 1 to 65535 rows; \"" + cell.dataset + "\" has " +
                                std::to_string(block.rows));
  }
  std::vector<std::int32_t> order(block.rows);
  shapley::UniformOrder(static_cast<std::uint64_t>(IntegerOf(cell.settings, "rows_seed")), 0, 0,
                        order);
  for (std::size_t k = 0; k < front + back; ++k) {
    const auto row = block.row(static_cast<std::size_t>(order[k]));
    auto& to = k < back ? problem.background : problem.foreground;
    to.insert(to.end(), row.begin(), row.end());
  }
  return problem;
}

std::vector<std::unique_ptr<Game>> MakeGames(const Problem& problem,
                                             std::vector<std::vector<double>>& closed_form) {
  std::vector<std::unique_ptr<Game>> games;
  for (std::size_t r = 0; r < problem.Foreground().rows; ++r) {
    auto game = MakeTreeGame(problem.model, problem.Foreground().row(r), problem.Background());
    closed_form.push_back(game->ShapleyValues());
    // A small game is cheaper as a table.
    if (game->dimension() <= 14) {
      games.push_back(shapley::TabulatedGame(*game));
    } else {
      games.push_back(std::move(game));
    }
  }
  return games;
}

std::vector<std::vector<double>> ExactValues(const Problem& problem) {
  const auto explainer =
      Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu, {});
  explainer->prepare(problem.model);
  explainer->set_background(problem.Background());
  const auto phi = explainer->values(problem.Foreground());
  const std::size_t side = problem.columns + 1;
  std::vector<std::vector<double>> exact;
  for (std::size_t r = 0; r < problem.Foreground().rows; ++r) {
    const auto from = phi.begin() + static_cast<std::ptrdiff_t>(r * side);
    exact.emplace_back(from, from + static_cast<std::ptrdiff_t>(problem.columns));
  }
  return exact;
}

// The worst disagreement of the two exact values, and of full coalitions with predictions.
double WorstDisagreement(const Problem& problem, const std::vector<std::unique_ptr<Game>>& games,
                         const std::vector<std::vector<double>>& exact,
                         const std::vector<std::vector<double>>& closed_form) {
  double worst = 0;
  const std::uint64_t full =
      problem.columns == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << problem.columns) - 1;
  for (std::size_t r = 0; r < games.size(); ++r) {
    for (std::size_t i = 0; i < problem.columns; ++i) {
      worst = std::max(worst, std::abs(exact[r][i] - closed_form[r][i]));
    }
    double v = 0;
    games[r]->evaluate({&full, 1}, {&v, 1});
    worst = std::max(worst, std::abs(v - Predict(problem.model, problem.Foreground().row(r))[0]));
  }
  return worst;
}

class ErrorProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/error"; }
  std::string family() const override { return "shapley"; }
  std::string summary() const override {
    return "squared error of Shapley value estimates for boosted trees by marginal evaluations";
  }
  std::vector<harness::AlgorithmInfo> algorithms() const override {
    return ListMethods<ShapleyEstimator>();
  }
  std::vector<harness::ParameterSpec> axes() const override {
    return {{"budget", std::int64_t{1000}, "marginal evaluations for one foreground row"}};
  }
  std::vector<harness::ParameterSpec> settings() const override {
    return {{"foreground", std::int64_t{10}, "rows explained"},
            {"background", std::int64_t{100}, "rows that stand for absent features"},
            {"rows_seed", std::int64_t{1}, "chooses both"},
            {"rounds", std::int64_t{100}, "boosting rounds"},
            {"depth", std::int64_t{6}, "of a tree"}};
  }
  std::vector<harness::DatasetInfo> resolve(const std::string& dataset) const override {
    return ResolveData(dataset);
  }

  harness::Outcome measure(const harness::CellConfig& cell) override {
    const Problem problem = MakeProblem(cell);
    const std::int64_t budget = IntegerOf(cell.axes, "budget");
    const auto estimator = MakeMethod<ShapleyEstimator>(cell);
    harness::Outcome outcome;
    const auto least = estimator->least_budget(static_cast<int>(problem.columns));
    if (budget < least) {
      outcome.status = "skipped";
      outcome.reason = "needs a budget of " + std::to_string(least) + " at least";
      return outcome;
    }
    std::vector<std::vector<double>> closed_form;
    const auto games = MakeGames(problem, closed_form);
    const auto exact = ExactValues(problem);
    const double worst = WorstDisagreement(problem, games, exact, closed_form);
    outcome.verification = {true,  worst <= kAgreement, "largest disagreement of exact values",
                            worst, kAgreement,          "interventional SHAP and predictions"};
    if (!outcome.verification.ok) {
      outcome.status = "wrong_result";
      outcome.reason = "the exact values disagree";
      return outcome;
    }
    harness::Metric mse{"mse", "margin^2", {}, {}, {}};
    std::int64_t evaluations = 0;
    for (std::int64_t repeat = 0; repeat < cell.repeats; ++repeat) {
      double squares = 0;
      evaluations = 0;
      for (std::size_t r = 0; r < games.size(); ++r) {
        const auto seed = static_cast<std::uint64_t>(cell.seed * 1000003 + repeat * 1009 +
                                                     static_cast<std::int64_t>(r));
        const auto estimate = estimator->estimate(*games[r], budget, seed);
        evaluations += estimate.evaluations;
        for (std::size_t i = 0; i < problem.columns; ++i) {
          squares += std::pow(estimate.values[i] - exact[r][i], 2);
        }
      }
      mse.samples.push_back(squares / static_cast<double>(games.size() * problem.columns));
    }
    outcome.metrics = {mse};
    outcome.facts["evaluations"] = evaluations / static_cast<std::int64_t>(games.size());
    outcome.facts["features"] = static_cast<std::int64_t>(problem.columns);
    outcome.facts["model"] = std::string(problem.logistic ? "own boosted trees, logistic loss"
                                                          : "own boosted trees, squared error");
    return outcome;
  }

 private:
  static constexpr double kAgreement = 1e-6;
};

RETABLE_PROTOCOL(ErrorProtocol);

}  // namespace
}  // namespace retable::experiments
