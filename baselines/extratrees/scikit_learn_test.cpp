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
  return options;
}

void ExpectEqualTree(const Tree& tree, const json& expected) {
  ASSERT_EQ(tree.nodes.size(), expected["feature"].size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    EXPECT_EQ(node.samples, expected["samples"][i].get<std::uint32_t>());
    EXPECT_EQ(node.impurity, expected["impurity"][i].get<double>());
    EXPECT_EQ(node.left, expected["left"][i].get<std::int32_t>());
    EXPECT_EQ(node.right, expected["right"][i].get<std::int32_t>());
    if (node.feature < 0) continue;  // scikit-learn writes -2 into leaves
    EXPECT_EQ(node.feature, expected["feature"][i].get<std::int32_t>());
    EXPECT_EQ(node.threshold, expected["threshold"][i].get<double>());
  }
}

class Fixtures : public testing::TestWithParam<const char*> {};

TEST_P(Fixtures, TreesEqualScikitLearns) {
  const json fixture = ReadFixture(GetParam());
  const std::vector<float> x = fixture["x"];
  const std::vector<std::uint32_t> y = fixture["y"];
  const FeatureMatrix data{x.data(), fixture["rows"], fixture["columns"]};
  for (const json& given : fixture["cases"]) {
    SCOPED_TRACE(given["options"].dump());
    for (const Layout layout : {Layout::kRows, Layout::kColumns}) {
      const auto fitted = ScikitLearnExtraTrees(layout, 2).fit(data, y, OptionsOf(given));
      const Forest& forest = fitted->host();
      for (std::size_t t = 0; t < forest.trees.size(); ++t) {
        ExpectEqualTree(forest.trees[t], given["trees"][t]);
      }
      const std::vector<double> expected = given["proba"];
      std::vector<double> proba(expected.size());
      fitted->predict_proba(x.data(), data.rows, proba.data());
      for (std::size_t i = 0; i < proba.size(); ++i) EXPECT_NEAR(proba[i], expected[i], 1e-11);
      const std::vector<double> importances = given["importances"];
      const std::vector<double> ours = fitted->feature_importances();
      for (std::size_t f = 0; f < ours.size(); ++f) EXPECT_NEAR(ours[f], importances[f], 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ScikitLearn, Fixtures, testing::Values("iris", "wine", "digits"));

TEST(ScikitLearnExtraTrees, NamesWhatItCannotDo) {
  const std::vector<float> x = {0, 1, 2, 3};
  const std::vector<std::uint32_t> y = {0, 1, 0, 1};
  const FeatureMatrix data{x.data(), 4, 1};
  ForestOptions options;
  options.bootstrap = true;
  EXPECT_THROW(ScikitLearnExtraTrees().fit(data, y, options), std::invalid_argument);
  options.bootstrap = false;
  options.constant_rule = ConstantRule::kGeurts;
  EXPECT_THROW(ScikitLearnExtraTrees().fit(data, y, options), std::invalid_argument);
  const std::vector<float> missing = {0, 1, std::nanf(""), 3};
  EXPECT_THROW(ScikitLearnExtraTrees().fit({missing.data(), 4, 1}, y, {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::extratrees
