#include "baselines/extratrees/scikit_learn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace retable::extratrees {
namespace {

using nlohmann::json;

json ReadFixture(const std::string& name) {
  std::ifstream file(std::string(RETABLE_SOURCE_DIR) + "/baselines/extratrees/fixtures/" + name +
                     ".json");
  return json::parse(file);
}

ForestOptions OptionsOf(const json& fixture) {
  ForestOptions options;
  options.n_trees = static_cast<int>(fixture["trees"].size());
  options.seed = fixture["random_state"];
  const json& given = fixture["options"];
  options.max_features = given.value("max_features", 0);
  options.max_depth = given.value("max_depth", 0);
  options.min_samples_leaf = given.value("min_samples_leaf", 1);
  options.min_samples_split = given.value("min_samples_split", 2);
  options.min_impurity_decrease = given.value("min_impurity_decrease", 0.0);
  options.max_leaf_nodes = given.value("max_leaf_nodes", 0);
  options.bootstrap = given.value("bootstrap", false);
  return options;
}

//! make_fixtures.py's missing values.
void MakeHoles(std::vector<float>& x, std::size_t columns) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t f = i % columns;
    if (f % 4 != 0 && (7 * (i / columns) + 5 * f) % 11 == 3) x[i] = std::nanf("");
  }
}

void ExpectEqualTree(const Tree& tree, const json& expected) {
  ASSERT_EQ(tree.nodes.size(), expected["feature"].size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    EXPECT_EQ(node.samples, expected["samples"][i].get<std::uint32_t>());
    EXPECT_EQ(node.weight, expected["weight"][i].get<double>());
    EXPECT_EQ(node.impurity, expected["impurity"][i].get<double>());
    EXPECT_EQ(node.left, expected["left"][i].get<std::int32_t>());
    EXPECT_EQ(node.right, expected["right"][i].get<std::int32_t>());
    if (node.feature < 0) continue;  // scikit-learn writes -2 into leaves
    EXPECT_EQ(node.feature, expected["feature"][i].get<std::int32_t>());
    EXPECT_EQ(node.threshold, expected["threshold"][i].get<double>());
    EXPECT_EQ(node.missing_left, expected["missing_left"][i].get<int>() != 0);
  }
}

class Fixtures : public testing::TestWithParam<const char*> {};

TEST_P(Fixtures, TreesEqualScikitLearns) {
  const json fixture = ReadFixture(GetParam());
  const std::vector<float> whole = fixture["x"];
  const std::vector<double> y = fixture["y"];
  const std::vector<std::uint32_t> labels(y.begin(), y.end());
  const std::vector<double> weights = fixture["weights"];
  const std::size_t columns = fixture["columns"];
  for (const json& given : fixture["cases"]) {
    SCOPED_TRACE(given["options"].dump());
    std::vector<float> x = whole;
    if (given["holes"]) MakeHoles(x, columns);
    const FeatureMatrix data{x.data(), fixture["rows"], columns};
    Targets targets = fixture["regression"] ? Targets::Regression(y) : Targets(labels);
    if (given["weighted"]) targets.weights = weights;
    for (const Layout layout : {Layout::kRows, Layout::kColumns}) {
      const auto fitted = ScikitLearnExtraTrees(layout, 2).fit(data, targets, OptionsOf(given));
      const Forest& forest = fitted->host();
      for (std::size_t t = 0; t < forest.trees.size(); ++t) {
        ExpectEqualTree(forest.trees[t], given["trees"][t]);
      }
      const std::vector<double> expected = given["answers"];
      std::vector<double> answers(expected.size());
      fitted->predict_proba(x.data(), data.rows, answers.data());
      for (std::size_t i = 0; i < answers.size(); ++i) {
        EXPECT_NEAR(answers[i], expected[i], 1e-11 * std::max(1.0, std::abs(expected[i])));
      }
      const std::vector<double> importances = given["importances"];
      const std::vector<double> ours = fitted->host().FeatureImportances();
      for (std::size_t f = 0; f < ours.size(); ++f) EXPECT_NEAR(ours[f], importances[f], 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ScikitLearn, Fixtures,
                         testing::Values("iris", "wine", "digits", "diabetes"));

TEST(ScikitLearnExtraTrees, NamesWhatItCannotDo) {
  const std::vector<float> x = {0, 1, 2, 3};
  const std::vector<std::uint32_t> y = {0, 1, 0, 1};
  const FeatureMatrix data{x.data(), 4, 1};
  ForestOptions options;
  const std::vector<double> weights = {1, 2, 1, 1};
  options.bootstrap = true;
  EXPECT_THROW(ScikitLearnExtraTrees().fit(data, Targets(y, weights), options),
               std::invalid_argument);
  options.bootstrap = false;
  options.constant_rule = ConstantRule::kGeurts;
  EXPECT_THROW(ScikitLearnExtraTrees().fit(data, y, options), std::invalid_argument);
  const std::vector<float> wild = {0, 1, INFINITY, 3};
  EXPECT_THROW(ScikitLearnExtraTrees().fit({wild.data(), 4, 1}, y, {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::extratrees
