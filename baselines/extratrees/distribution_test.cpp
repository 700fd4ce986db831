// Forests of the exact frontier against forests of scikit-learn's rules and random numbers: other
// bits, the same law. Thirty seeds each; means agree within four standard errors.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "algorithms/extratrees/frontier_cpu.hpp"
#include "baselines/extratrees/scikit_learn.hpp"

namespace retable::extratrees {
namespace {

struct Moments {
  double sum = 0, squares = 0;
  int n = 0;
  void Add(double x) {
    sum += x;
    squares += x * x;
    ++n;
  }
  double Mean() const { return sum / n; }
  //! Squared standard error of the mean.
  double Error2() const { return (squares / n - Mean() * Mean()) / (n - 1); }
};

struct Law {
  Moments nodes, depth, accuracy;
  std::vector<Moments> importance;
};

Law Measure(ForestTrainer& trainer, const std::string& fixture, ForestOptions options) {
  std::ifstream file(std::string(RETABLE_SOURCE_DIR) + "/baselines/extratrees/fixtures/" + fixture +
                     ".json");
  const nlohmann::json json = nlohmann::json::parse(file);
  const std::vector<float> x = json["x"];
  const std::vector<double> given = json["y"];
  const std::vector<std::uint32_t> y(given.begin(), given.end());
  const std::size_t columns = json["columns"];
  // Every third row is kept for testing.
  std::vector<float> train, test;
  std::vector<std::uint32_t> train_labels, test_labels;
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto& values = i % 3 == 0 ? test : train;
    const auto row = x.begin() + static_cast<std::ptrdiff_t>(i * columns);
    values.insert(values.end(), row, row + static_cast<std::ptrdiff_t>(columns));
    (i % 3 == 0 ? test_labels : train_labels).push_back(y[i]);
  }
  Law law;
  law.importance.resize(columns);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    options.seed = seed;
    const auto fitted =
        trainer.fit({train.data(), train_labels.size(), columns}, train_labels, options);
    const Forest& forest = fitted->host();
    law.nodes.Add(static_cast<double>(forest.NodeCount()) / options.n_trees);
    law.depth.Add(forest.MeanDepth());
    law.accuracy.Add(Accuracy(forest.Predict(test.data(), test_labels.size()), test_labels));
    const std::vector<double> importances = forest.FeatureImportances();
    for (std::size_t f = 0; f < columns; ++f) law.importance[f].Add(importances[f]);
  }
  return law;
}

void ExpectSame(const Moments& a, const Moments& b, const std::string& what) {
  const double error = std::sqrt(a.Error2() + b.Error2());
  EXPECT_LE(std::abs(a.Mean() - b.Mean()), 4 * error + 1e-12)
      << what << ": " << a.Mean() << " " << b.Mean();
}

class Laws : public testing::TestWithParam<const char*> {};

TEST_P(Laws, AgreeWithScikitLearns) {
  for (const int max_features : {0, 1}) {
    ForestOptions options;
    options.n_trees = 10;
    options.max_features = max_features;
    ScikitLearnExtraTrees baseline;
    FrontierCpu frontier;
    const Law expected = Measure(baseline, GetParam(), options);
    const Law ours = Measure(frontier, GetParam(), options);
    ExpectSame(expected.nodes, ours.nodes, "nodes");
    ExpectSame(expected.depth, ours.depth, "depth");
    ExpectSame(expected.accuracy, ours.accuracy, "accuracy");
    for (std::size_t f = 0; f < expected.importance.size(); ++f) {
      ExpectSame(expected.importance[f], ours.importance[f],
                 "importance of feature " + std::to_string(f));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ScikitLearn, Laws, testing::Values("iris", "wine", "digits"));

//! Real targets, weights and missing values: diabetes with make_fixtures.py's holes and weights.
Law MeasureRegression(ForestTrainer& trainer, bool weighted, bool holes, ForestOptions options) {
  std::ifstream file(std::string(RETABLE_SOURCE_DIR) +
                     "/baselines/extratrees/fixtures/diabetes.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  std::vector<float> x = json["x"];
  const std::vector<double> y = json["y"];
  const std::vector<double> weights = json["weights"];
  const std::size_t columns = json["columns"];
  const std::size_t train = 100;
  for (std::size_t i = 0; i < x.size() && holes; ++i) {
    const std::size_t f = i % columns;
    if (f % 4 != 0 && (7 * (i / columns) + 5 * f) % 11 == 3) x[i] = std::nanf("");
  }
  Targets targets = Targets::Regression(std::span(y).first(train));
  if (weighted) targets.weights = std::span(weights).first(train);
  Law law;
  law.importance.resize(columns);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    options.seed = seed;
    const auto fitted = trainer.fit({x.data(), train, columns}, targets, options);
    const Forest& forest = fitted->host();
    law.nodes.Add(static_cast<double>(forest.NodeCount()) / options.n_trees);
    law.depth.Add(forest.MeanDepth());
    std::vector<double> answers(y.size() - train);
    forest.PredictProba(x.data() + train * columns, answers.size(), answers.data());
    double squares = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      squares += (answers[i] - y[train + i]) * (answers[i] - y[train + i]);
    }
    law.accuracy.Add(squares / static_cast<double>(answers.size()));
    const std::vector<double> importances = forest.FeatureImportances();
    for (std::size_t f = 0; f < columns; ++f) law.importance[f].Add(importances[f]);
  }
  return law;
}

TEST(Laws, OfRegressionAgreeWithScikitLearns) {
  for (const bool weighted : {false, true}) {
    for (const bool holes : {false, true}) {
      SCOPED_TRACE(std::string(weighted ? "weighted " : "") + (holes ? "holes" : ""));
      for (const int max_features : {0, 3}) {
        ForestOptions options;
        options.n_trees = 10;
        options.max_features = max_features;
        options.min_samples_leaf = 2;
        ScikitLearnExtraTrees baseline;
        FrontierCpu frontier;
        const Law expected = MeasureRegression(baseline, weighted, holes, options);
        const Law ours = MeasureRegression(frontier, weighted, holes, options);
        ExpectSame(expected.nodes, ours.nodes, "nodes");
        ExpectSame(expected.depth, ours.depth, "depth");
        ExpectSame(expected.accuracy, ours.accuracy, "squared error");
        for (std::size_t f = 0; f < expected.importance.size(); ++f) {
          ExpectSame(expected.importance[f], ours.importance[f],
                     "importance of feature " + std::to_string(f));
        }
      }
    }
  }
}

//! The check has teeth: the law of another rule is told apart.
TEST(Laws, AnotherRuleIsToldApart) {
  ForestOptions options;
  options.n_trees = 10;
  ScikitLearnExtraTrees baseline;
  FrontierCpu frontier;
  const Law expected = Measure(baseline, "digits", options);
  options.constant_rule = ConstantRule::kGeurts;
  const Law other = Measure(frontier, "digits", options);
  const double error = std::sqrt(expected.nodes.Error2() + other.nodes.Error2());
  EXPECT_GT(std::abs(expected.nodes.Mean() - other.nodes.Mean()), 4 * error);
}

}  // namespace
}  // namespace retable::extratrees
