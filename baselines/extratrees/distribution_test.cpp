// Forests of the exact frontier against forests of scikit-learn: other random bits, the same law.
// Thirty seeds each; means of nodes, depth, test error and every importance agree within four
// standard errors. fixtures/laws.json holds scikit-learn's own means and variances; where weights
// or missing values come in, the baseline, equal to scikit-learn tree for tree, stands for it.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "baselines/extratrees/scikit_learn.hpp"

namespace retable::extratrees {
namespace {

constexpr int kSeeds = 30;

struct Moments {
  double mean = 0, variance = 0;
  static Moments Of(const std::vector<double>& samples) {
    Moments m;
    const auto n = static_cast<double>(samples.size());
    for (const double x : samples) m.mean += x / n;
    for (const double x : samples) m.variance += (x - m.mean) * (x - m.mean) / (n - 1);
    return m;
  }
};
using Law = std::map<std::string, Moments>;

nlohmann::json ReadFixture(const std::string& name) {
  std::ifstream file(std::string(RETABLE_SOURCE_DIR) + "/baselines/extratrees/fixtures/" + name +
                     ".json");
  return nlohmann::json::parse(file);
}

//! A fixture's data, every third row kept for testing; make_fixtures.py's holes and weights.
struct Data {
  std::vector<float> train, test;
  std::vector<double> train_values, test_values, weights;
  std::vector<std::uint32_t> labels;
  std::size_t columns = 0;
  bool regression = false;

  explicit Data(const std::string& fixture, bool holes = false) {
    const nlohmann::json json = ReadFixture(fixture);
    std::vector<float> x = json["x"];
    const std::vector<double> y = json["y"];
    const std::vector<double> given_weights = json["weights"];
    columns = json["columns"];
    regression = json["regression"];
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t f = 0; f < columns; ++f) {
        const bool hole = holes && f % 4 != 0 && (7 * i + 5 * f) % 11 == 3;
        (i % 3 == 0 ? test : train).push_back(hole ? std::nanf("") : x[i * columns + f]);
      }
      (i % 3 == 0 ? test_values : train_values).push_back(y[i]);
      if (i % 3 != 0) weights.push_back(given_weights[i]);
    }
    labels.assign(train_values.begin(), train_values.end());
  }
  Targets Given(bool weighted) const {
    Targets targets = regression ? Targets::Regression(train_values) : Targets(labels);
    if (weighted) targets.weights = weights;
    return targets;
  }
  //! Share of wrong classes, or mean squared error.
  double Error(const Forest& forest) const {
    const auto n = static_cast<double>(test_values.size());
    double error = 0;
    if (regression) {
      std::vector<double> answers(test_values.size());
      forest.PredictProba(test.data(), answers.size(), answers.data());
      for (std::size_t i = 0; i < answers.size(); ++i) {
        error += (answers[i] - test_values[i]) * (answers[i] - test_values[i]) / n;
      }
      return error;
    }
    const auto classes = forest.Predict(test.data(), test_values.size());
    for (std::size_t i = 0; i < classes.size(); ++i) {
      error += static_cast<double>(classes[i]) != test_values[i] ? 1 / n : 0;
    }
    return error;
  }
};

Law Measure(ForestTrainer& trainer, const Data& data, const Targets& targets,
            ForestOptions options) {
  std::map<std::string, std::vector<double>> samples;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    options.seed = seed;
    const auto fitted =
        trainer.fit({data.train.data(), data.train_values.size(), data.columns}, targets, options);
    const Forest& forest = fitted->host();
    samples["nodes"].push_back(static_cast<double>(forest.NodeCount()) / options.n_trees);
    samples["depth"].push_back(forest.MeanDepth());
    samples["error"].push_back(data.Error(forest));
    const std::vector<double> importances = forest.FeatureImportances();
    for (std::size_t f = 0; f < data.columns; ++f) {
      samples["importance of feature " + std::to_string(f)].push_back(importances[f]);
    }
  }
  Law law;
  for (const auto& [what, values] : samples) law[what] = Moments::Of(values);
  return law;
}

void ExpectSame(const Law& expected, const Law& ours) {
  ASSERT_EQ(expected.size(), ours.size());
  for (const auto& [what, theirs] : expected) {
    const Moments& mine = ours.at(what);
    const double error = std::sqrt((theirs.variance + mine.variance) / kSeeds);
    EXPECT_LE(std::abs(theirs.mean - mine.mean), 4 * error + 1e-12)
        << what << ": " << theirs.mean << " " << mine.mean;
  }
}

ForestOptions TenTrees() {
  ForestOptions options;
  options.n_trees = 10;
  return options;
}

class Laws : public testing::TestWithParam<const char*> {};

TEST_P(Laws, AreScikitLearnsOwn) {
  const nlohmann::json json = ReadFixture("laws")["laws"][GetParam()];
  Law expected;
  for (const auto& [what, moments] : json.items()) expected[what] = {moments[0], moments[1]};
  const Data data(GetParam());
  ScikitLearnExtraTrees baseline;
  const Law same = Measure(baseline, data, data.Given(false), TenTrees());
  for (const auto& [what, theirs] : expected) {
    EXPECT_NEAR(same.at(what).mean, theirs.mean, 1e-9 * std::abs(theirs.mean)) << what;
    EXPECT_NEAR(same.at(what).variance, theirs.variance, 1e-6 * theirs.variance) << what;
  }
  FrontierCpu frontier;
  ExpectSame(expected, Measure(frontier, data, data.Given(false), TenTrees()));
}

TEST_P(Laws, HoldForWeightsHolesAndFewFeatures) {
  for (const bool weighted : {false, true}) {
    for (const bool holes : {false, true}) {
      SCOPED_TRACE(std::string(weighted ? "weighted " : "") + (holes ? "holes" : ""));
      const Data data(GetParam(), holes);
      ForestOptions options = TenTrees();
      options.max_features = 2;
      options.min_samples_leaf = 2;
      ScikitLearnExtraTrees baseline;
      FrontierCpu frontier;
      ExpectSame(Measure(baseline, data, data.Given(weighted), options),
                 Measure(frontier, data, data.Given(weighted), options));
    }
  }
}

TEST_P(Laws, HoldForALimitOfLeaves) {
  for (const bool weighted : {false, true}) {
    SCOPED_TRACE(weighted);
    const Data data(GetParam());
    ForestOptions options = TenTrees();
    options.max_leaf_nodes = 8;
    ScikitLearnExtraTrees baseline;
    FrontierCpu frontier;
    ExpectSame(Measure(baseline, data, data.Given(weighted), options),
               Measure(frontier, data, data.Given(weighted), options));
  }
}

INSTANTIATE_TEST_SUITE_P(ScikitLearn, Laws, testing::Values("iris", "wine", "digits", "diabetes"));

//! The check has teeth: the law of another rule is told apart.
TEST(Laws, AnotherRuleIsToldApart) {
  const Data data("digits");
  FrontierCpu frontier;
  ForestOptions options = TenTrees();
  const Moments expected = Measure(frontier, data, data.Given(false), options)["nodes"];
  options.constant_rule = ConstantRule::kGeurts;
  const Moments other = Measure(frontier, data, data.Given(false), options)["nodes"];
  const double error = std::sqrt((expected.variance + other.variance) / kSeeds);
  EXPECT_GT(std::abs(expected.mean - other.mean), 4 * error);
}

}  // namespace
}  // namespace retable::extratrees
