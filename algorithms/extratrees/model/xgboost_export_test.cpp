#include "algorithms/extratrees/model/xgboost_export.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"

namespace retable::extratrees {
namespace {

using nlohmann::json;

//! Reads the file as XGBoost does: floats, x < condition, default_left for NaN, sums a target.
std::vector<double> Answers(const json& model, const float* row) {
  const json& learner = model["learner"];
  const json& trees = learner["gradient_booster"]["model"]["trees"];
  const json& info = learner["gradient_booster"]["model"]["tree_info"];
  std::vector<double> sums(
      std::stoul(learner["learner_model_param"]["num_target"].get<std::string>()), 0.0);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    std::size_t at = 0;
    while (trees[t]["left_children"][at].get<int>() >= 0) {
      // XGBoost's predictors step from the left child to the next node.
      EXPECT_EQ(trees[t]["left_children"][at].get<int>() + 1, trees[t]["right_children"][at]);
      const float x = row[trees[t]["split_indices"][at].get<std::size_t>()];
      const bool left = std::isnan(x) ? trees[t]["default_left"][at].get<int>() != 0
                                      : x < trees[t]["split_conditions"][at].get<float>();
      const std::size_t child = trees[t][left ? "left_children" : "right_children"][at];
      EXPECT_EQ(trees[t]["parents"][child].get<std::size_t>(), at);
      at = child;
    }
    sums[info[t].get<std::size_t>()] +=
        static_cast<double>(trees[t]["split_conditions"][at].get<float>());
  }
  return sums;
}

void ExpectSameAnswers(const Forest& forest, const std::vector<float>& x) {
  std::ostringstream out;
  WriteXgboostJson(forest, out);
  const json model = json::parse(out.str());
  std::vector<double> expected(forest.classes);
  for (std::size_t i = 0; i < x.size() / forest.columns; ++i) {
    const float* row = x.data() + i * forest.columns;
    forest.PredictProba(row, 1, expected.data());
    const std::vector<double> answers = Answers(model, row);
    ASSERT_EQ(answers.size(), forest.classes);
    for (std::uint32_t c = 0; c < forest.classes; ++c) {
      EXPECT_NEAR(answers[c], expected[c], 1e-6 * std::max(1.0, std::abs(expected[c])));
    }
  }
}

TEST(XgboostJson, AnswersAsTheForest) {
  std::vector<float> x;
  std::vector<std::uint32_t> labels;
  std::vector<double> values;
  for (int i = 0; i < 90; ++i) {
    const auto a = static_cast<float>((i * 37) % 23);
    x.insert(x.end(), {a, 0.1f * a * static_cast<float>(i % 4), static_cast<float>(i % 3)});
    if (i % 7 == 2) x[x.size() - 2] = std::nanf("");
    labels.push_back(static_cast<std::uint32_t>((i * 37) % 23 / 8));
    values.push_back(static_cast<double>(a) * a - 40.0);
  }
  const FeatureMatrix data{x.data(), 90, 3};
  const ForestOptions options{.n_trees = 6, .min_samples_leaf = 2};
  ExpectSameAnswers(FrontierCpu(1).fit(data, labels, options)->host(), x);
  ExpectSameAnswers(FrontierCpu(1).fit(data, Targets::Regression(values), options)->host(), x);
}

TEST(XgboostJson, RefusesWhatNoFloatHolds) {
  const std::vector<float> x = {1, 2};
  const auto write = [&](double value, double weight) {
    const std::vector<double> values = {value, 2 * value}, weights = {weight, weight};
    const auto fitted =
        FrontierCpu(1).fit({x.data(), 2, 1}, Targets::Regression(values, weights), {.n_trees = 2});
    std::ostringstream out;
    WriteXgboostJson(fitted->host(), out);
  };
  EXPECT_NO_THROW(write(1, 1));
  EXPECT_NO_THROW(write(0, 1));
  EXPECT_NO_THROW(write(1.6e38, 1));
  EXPECT_THROW(write(3e38, 1), std::invalid_argument);  // XGBoost adds 3e38 of two trees
  EXPECT_NO_THROW(write(2e-38, 1));
  EXPECT_THROW(write(1e50, 1), std::invalid_argument);
  EXPECT_THROW(write(1e-50, 1), std::invalid_argument);
  EXPECT_THROW(write(1, 1e60), std::invalid_argument);
  EXPECT_THROW(write(1, 1e-60), std::invalid_argument);
}

TEST(XgboostJson, WantsANameForEachFeature) {
  const std::vector<float> x = {1, 2};
  const std::vector<std::uint32_t> y = {0, 1};
  const auto fitted = FrontierCpu(1).fit({x.data(), 2, 1}, y, {.n_trees = 1});
  std::ostringstream out;
  EXPECT_THROW(WriteXgboostJson(fitted->host(), out, {"a", "b"}), std::invalid_argument);
  EXPECT_THROW(WriteXgboostJson(fitted->host(), out, {"a[1]"}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::extratrees
