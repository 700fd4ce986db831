// The model writer against our reader, and XGBoost's values against the reference where it is
// linked.

#include "baselines/treeshap/xgboost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "baselines/treeshap/ubj_writer.hpp"

namespace retable::baselines::treeshap {
namespace {

using namespace retable::treeshap;

TEST(XgboostUbj, ReadsBackWhatItWrites) {
  for (const double categorical : {0.0, 0.5}) {
    const TreeEnsemble model = RandomEnsemble({.trees = 4,
                                               .features = 5,
                                               .groups = 3,
                                               .depth = 5,
                                               .categorical_probability = categorical},
                                              1);
    EXPECT_EQ(model.category_sets.empty(), categorical == 0);
    const TreeEnsemble again = ReadModel(WriteXgboostUbj(model));
    ASSERT_EQ(again.trees.size(), model.trees.size());
    EXPECT_EQ(again.features, model.features);
    EXPECT_EQ(again.groups, model.groups);
    auto values = RandomRows(model, 20, 0.2, 1);
    if (categorical > 0) {
      // A model names 32 categories of such a feature at least; of others the writer tells nothing.
      for (float& x : values) x = std::clamp(x, 0.0f, 31.0f);
    }
    for (std::size_t r = 0; r < 20; ++r) {
      const std::span<const float> row(values.data() + r * 5, 5);
      const auto want = Predict(model, row);
      const auto got = Predict(again, row);
      for (std::size_t g = 0; g < 3; ++g) {
        EXPECT_NEAR(got[g] - again.base_score[g], want[g] - model.base_score[g], 1e-5);
      }
    }
  }
}

TEST(XgboostUbj, RefusesDamagedFiles) {
  const std::string bytes = WriteXgboostUbj(RandomEnsemble({.trees = 2}, 1));
  for (std::size_t length = 1; length + 1 < bytes.size(); length += 1 + length / 8) {
    EXPECT_THROW(ReadModel(bytes.substr(0, length)), std::invalid_argument) << length;
  }
  EXPECT_THROW(ReadXgboostUbj(std::string(100000, '[')), std::invalid_argument);
  EXPECT_THROW(ReadXgboostUbj(std::string("[$T#L\x7f\xff\xff\xff\xff\xff\xff\xff", 13)),
               std::invalid_argument);
}

double Error(std::span<const double> got, std::span<const double> want) {
  EXPECT_EQ(got.size(), want.size());
  double most = 0;
  double scale = 1e-300;
  for (std::size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(got[i] - want[i]));
    scale = std::max(scale, std::abs(want[i]));
  }
  return most / scale;
}

TEST(Xgboost, ExplainsAnyEnsemble) {
  if (!XgboostIsHere()) GTEST_SKIP() << "this build has no XGBoost";
  for (const int groups : {1, 3}) {
    TreeEnsemble model =
        RandomEnsemble({.trees = 6, .features = 6, .groups = groups, .depth = 5}, 3);
    if (groups == 1) model.base_score[0] = 206855.8125;
    const auto values = RandomRows(model, 7, 0, 3);
    const RowBlock rows{values, 7, 6};
    auto xgboost = Registry<TreeExplainer>::Instance().Make("XGBoost", Device::kCpu, {});
    xgboost->prepare(model);
    EXPECT_LE(Error(xgboost->values(rows), PathReferenceValues(model, rows)), 1e-5)
        << "base score " << model.base_score[0];
    EXPECT_LE(Error(xgboost->interactions(rows), PathReferenceInteractions(model, rows)), 1e-4);
  }
}

TEST(Xgboost, TrainsAModelWeCanExplain) {
  if (!XgboostIsHere()) GTEST_SKIP() << "this build has no XGBoost";
  const SyntheticShape shape{.features = 4};
  const auto values = SyntheticRows(shape, 400, 5);
  std::vector<float> labels;
  for (std::size_t r = 0; r < 400; ++r) {
    labels.push_back(values[r * 4] > 0.5f ? values[r * 4 + 1] : values[r * 4 + 2] * 2);
  }
  const RowBlock rows{values, 400, 4};
  const TreeEnsemble model =
      ReadModel(TrainXgboost(rows, labels, {.rounds = 5, .depth = 4, .eta = 0.3}));
  EXPECT_EQ(model.trees.size(), 5u);
  double error = 0;
  double spread = 0;
  for (std::size_t r = 0; r < 400; ++r) {
    error += std::pow(Predict(model, rows.row(r))[0] - static_cast<double>(labels[r]), 2);
    spread += std::pow(0.5 - static_cast<double>(labels[r]), 2);
  }
  EXPECT_LT(error, 0.5 * spread);
}

}  // namespace
}  // namespace retable::baselines::treeshap
