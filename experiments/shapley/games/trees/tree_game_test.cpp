// Boosted trees, their games, and the error protocol.

#include "experiments/shapley/games/trees/tree_game.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/cuda/devices.hpp"
#include "experiments/shapley/games/trees/boosted_trees.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using retable::treeshap::Predict;
using retable::treeshap::RowBlock;

// A two-feature step function with an interaction, on a grid.
struct Grid {
  std::vector<float> rows, targets;
  explicit Grid(bool classes) {
    for (int i = 0; i < 12; ++i) {
      for (int j = 0; j < 12; ++j) {
        rows.insert(rows.end(), {static_cast<float>(i), static_cast<float>(j), 1.0f});
        const bool both = i >= 4 && j >= 7;
        targets.push_back(both ? 1.0f : classes ? 0.0f : -2.0f);
      }
    }
  }
  RowBlock Rows() const { return {rows, rows.size() / 3, 3}; }
};

TEST(BoostedTrees, LearnAnInteraction) {
  for (bool logistic : {false, true}) {
    const Grid grid(logistic);
    BoostingOptions options;
    options.logistic = logistic;
    const auto model = TrainBoostedTrees(grid.Rows(), grid.targets, options);
    retable::treeshap::Validate(model);
    EXPECT_EQ(model.trees.size(), 100u);
    for (std::size_t i = 0; i < grid.Rows().rows; ++i) {
      const double margin = Predict(model, grid.Rows().row(i))[0];
      if (logistic) {
        EXPECT_EQ(margin > 0, grid.targets[i] > 0);
      } else {
        EXPECT_NEAR(margin, grid.targets[i], 1e-3);
      }
    }
  }
}

TEST(BoostedTrees, ATreeIsWhatTheFormulaSays) {
  // Two rows with targets 0 and 6: mean 3, one split at 1/2, leaves 0.3 * -+3 / (1 + 1).
  const std::vector<float> rows = {0, 1}, targets = {0, 6};
  BoostingOptions options;
  options.rounds = 1;
  const auto model = TrainBoostedTrees({rows, 2, 1}, targets, options);
  EXPECT_EQ(model.base_score[0], 3);
  ASSERT_EQ(model.trees[0].nodes.size(), 3u);
  EXPECT_EQ(model.trees[0].nodes[0].threshold, 0.5f);
  EXPECT_NEAR(model.trees[0].nodes[1].value, -0.45, 1e-15);
  EXPECT_NEAR(model.trees[0].nodes[2].value, 0.45, 1e-15);
}

// The same splits whether most values of a column are alike or none are, and at more values than
// bins.
TEST(BoostedTrees, SparseAndDenseColumnsAreTheSame) {
  std::vector<float> rows, targets;
  for (int i = 0; i < 1000; ++i) {
    const bool rare = i % 50 == 3;
    const float x = static_cast<float>((i * 37) % 1000);
    rows.insert(rows.end(), {rare ? 1.0f : 0.0f, x});
    targets.push_back((rare ? 5.0f : 0.0f) + (x < 500 ? 1.0f : 2.0f));
  }
  BoostingOptions options;
  options.rounds = 60;
  const auto model = TrainBoostedTrees({rows, 1000, 2}, targets, options);
  double worst = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const double margin = Predict(model, std::span(rows).subspan(2 * i, 2))[0];
    worst = std::max(worst, std::abs(margin - static_cast<double>(targets[i])));
  }
  EXPECT_LT(worst, 0.02);  // the step at 500 lies within a bin of four values: found exactly or not
}

TEST(BoostedTrees, BadInputIsRefused) {
  const std::vector<float> rows = {0, std::nanf("")}, fine = {0, 1}, targets = {0, 2};
  BoostingOptions logistic;
  logistic.logistic = true;
  EXPECT_THROW(TrainBoostedTrees({rows, 2, 1}, fine, {}), std::invalid_argument);
  EXPECT_THROW(TrainBoostedTrees({fine, 2, 1}, targets, logistic), std::invalid_argument);
  EXPECT_THROW(TrainBoostedTrees({fine, 2, 1}, {}, {}), std::invalid_argument);
}

TEST(TreeGame, ValuesAndShapleyValuesAreTheModels) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    retable::treeshap::RandomEnsembleOptions shape;
    shape.trees = 4;
    shape.features = 7;
    shape.categorical_probability = 0.2;
    const auto model = retable::treeshap::RandomEnsemble(shape, seed);
    const auto rows = retable::treeshap::RandomRows(model, 9, 0.1, seed + 1);
    const RowBlock all{rows, 9, 7};
    const RowBlock background = all.slice(1, 8);
    const auto game = MakeTreeGame(model, all.row(0), background);
    for (std::uint64_t mask = 0; mask < 128; ++mask) {
      double expected = 0, value = 0;
      for (std::size_t b = 0; b < 8; ++b) {
        std::vector<float> mixed(background.row(b).begin(), background.row(b).end());
        for (std::size_t f = 0; f < 7; ++f) {
          if ((mask >> f) & 1) mixed[f] = all.row(0)[f];
        }
        expected += Predict(model, mixed)[0] / 8;
      }
      game->evaluate({&mask, 1}, {&value, 1});
      EXPECT_NEAR(value, expected, 1e-9);
    }
    const auto exact = shapley::ExactShapleyValues(*game);
    const auto closed = game->ShapleyValues();
    const auto explainer = Registry<retable::treeshap::TreeExplainer>::Instance().Make(
        "Interventional", Device::kCpu, {});
    explainer->prepare(model);
    explainer->set_background(background);
    const auto phi = explainer->values(all.slice(0, 1));
    for (std::size_t f = 0; f < 7; ++f) {
      EXPECT_NEAR(exact[f], closed[f], 1e-9);
      EXPECT_NEAR(exact[f], phi[f], 1e-9);
    }
  }
}

// 107 features, as adult has: beyond one word of a coalition.
TEST(TreeGame, WideModelsToo) {
  retable::treeshap::RandomEnsembleOptions shape;
  shape.trees = 30;
  shape.features = 107;
  const auto model = retable::treeshap::RandomEnsemble(shape, 3);
  const auto rows = retable::treeshap::RandomRows(model, 6, 0.1, 4);
  const RowBlock all{rows, 6, 107};
  const RowBlock background = all.slice(1, 5);
  const auto game = MakeTreeGame(model, all.row(0), background);
  std::vector<std::int32_t> order(107);
  shapley::UniformOrder(8, 0, 0, order);
  std::vector<double> walked(108);
  game->walk(order, walked);
  std::vector<float> mixed(background.values.begin(), background.values.end());
  for (std::size_t k = 0; k <= order.size(); ++k) {
    double expected = 0;
    for (std::size_t b = 0; b < 5; ++b) {
      expected += Predict(model, std::span(mixed).subspan(b * 107, 107))[0] / 5;
      if (k < order.size()) {
        const auto f = static_cast<std::size_t>(order[k]);
        mixed[b * 107 + f] = all.row(0)[f];
      }
    }
    EXPECT_NEAR(walked[k], expected, 1e-9);
  }
  const auto explainer = Registry<retable::treeshap::TreeExplainer>::Instance().Make(
      "Interventional", Device::kCpu, {});
  explainer->prepare(model);
  explainer->set_background(background);
  const auto phi = explainer->values(all.slice(0, 1));
  const auto closed = game->ShapleyValues();
  for (std::size_t f = 0; f < 107; ++f) EXPECT_NEAR(closed[f], phi[f], 1e-9);
}

TEST(TreeGame, BadInputIsRefused) {
  const auto model = retable::treeshap::RandomEnsemble({}, 1);
  const auto rows = retable::treeshap::RandomRows(model, 2, 0, 1);
  const RowBlock all{rows, 2, 6};
  EXPECT_THROW(MakeTreeGame(model, all.row(0), all.slice(0, 0)), std::invalid_argument);
  EXPECT_THROW(MakeTreeGame(model, all.row(0).first(3), all), std::invalid_argument);
}

harness::CellConfig ErrorCell(const std::string& algorithm, std::int64_t budget) {
  harness::CellConfig cell;
  cell.experiment = "shapley/test";
  cell.family = "shapley";
  cell.protocol = "shapley/error";
  cell.algorithm = algorithm;
  cell.label = algorithm;
  cell.device = "cpu";
  cell.dataset = "diabetes";
  cell.seed = 1;
  cell.repeats = 3;
  for (const auto& spec : harness::FindProtocol(cell.protocol).settings()) {
    cell.settings[spec.name] = spec.fallback;
  }
  cell.settings["rounds"] = std::int64_t{10};
  cell.axes["budget"] = budget;
  return cell;
}

double MeanError(const std::string& algorithm, std::int64_t budget) {
  const auto cell = ErrorCell(algorithm, budget);
  const auto outcome = harness::FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(outcome.metrics.front().samples.size(), 3u);
  double sum = 0;
  for (double x : outcome.metrics.front().samples) sum += x;
  return sum;
}

TEST(ErrorProtocol, ErrorsFallWithTheBudget) {
  for (const char* name : {"MC", "Orthogonal", "Owen-halved", "Stratified"}) {
    EXPECT_LT(MeanError(name, 4000), 0.7 * MeanError(name, 400)) << name;
  }
}

// A perceptron's games of ten features are tabulated and exact; without exact values the trials'
// mean stands in, and different coalitions are no more than those asked for.
TEST(ErrorProtocol, PerceptronsAndPermutations) {
  auto cell = ErrorCell("Orthogonal", 0);
  cell.settings["model"] = std::string("mlp");
  cell.settings["epochs"] = std::int64_t{5};
  cell.settings["permutations"] = std::int64_t{100};
  const auto outcome = harness::FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(std::get<std::string>(outcome.facts.at("reference")), "exact, all coalitions");
  for (const double evaluations : outcome.metrics.at(1).samples) EXPECT_EQ(evaluations, 1100);
  for (const double unique : outcome.metrics.at(2).samples) {
    EXPECT_LE(unique, 1024);
    EXPECT_GT(unique, 11);
  }
  cell.dataset = "breast_cancer";
  cell.settings["permutations"] = std::int64_t{10};
  const auto wide = harness::FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(wide.verification.ok);
  EXPECT_EQ(std::get<std::string>(wide.facts.at("reference")), "mean of the trials");
  cell.repeats = 1;
  EXPECT_THROW(harness::FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
  cell.settings["model"] = std::string("oracle");
  EXPECT_THROW(harness::FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
}

// A cell on a GPU is the same measurement: games, permutations and hence errors have the same bits.
TEST(ErrorProtocol, DevicesAgree) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (const char* model : {"trees", "mlp"}) {
    for (const char* dataset : {"breast_cancer", "diabetes"}) {
      for (const char* name : {"MC", "MC-antithetic", "Herding", "SBQ", "Orthogonal", "Sobol",
                               "Owen", "Owen-halved", "Stratified"}) {
        auto cell = ErrorCell(name, 3000);
        cell.dataset = dataset;
        cell.settings["model"] = std::string(model);
        cell.settings["epochs"] = std::int64_t{5};
        cell.repeats = 3;
        const auto host = harness::FindProtocol(cell.protocol).measure(cell);
        cell.device = "cuda";
        const auto device = harness::FindProtocol(cell.protocol).measure(cell);
        EXPECT_TRUE(host.verification.ok && device.verification.ok) << name;
        ASSERT_EQ(host.metrics.size(), device.metrics.size());
        for (std::size_t m = 0; m < host.metrics.size(); ++m) {
          EXPECT_EQ(host.metrics[m].samples, device.metrics[m].samples)
              << model << " " << dataset << " " << name << " " << host.metrics[m].name;
        }
      }
    }
  }
}

// No rows were no error, 2^32 + 2 levels two, and three classes the numbers 0, 1 and 2.
TEST(ErrorProtocol, WhatItCannotMeasureIsRefused) {
  const auto refuses = [](const harness::CellConfig& cell) {
    EXPECT_THROW(harness::FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
  };
  for (const auto& [name, value] : std::map<std::string, std::int64_t>{
           {"foreground", -1}, {"background", 0}, {"depth", (std::int64_t{1} << 32) + 2}}) {
    auto cell = ErrorCell("MC", 100);
    cell.settings[name] = value;
    refuses(cell);
  }
  auto classes = ErrorCell("MC", 100);
  classes.dataset = "iris";
  refuses(classes);
}

TEST(ErrorProtocol, ABudgetTooSmallIsSkippedWithTheReason) {
  const auto cell = ErrorCell("Stratified", 100);
  const auto outcome = harness::FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(outcome.status, "skipped");
  EXPECT_NE(outcome.reason.find("200"), std::string::npos);
}

}  // namespace
}  // namespace retable::experiments
