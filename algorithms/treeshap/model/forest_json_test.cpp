// Models of scikit-learn as apps/shap/from_scikit_learn.py writes them, with what scikit-learn's
// own trees answer: made by `tools/oracle_trainers.py - --write FILE --seed 100 --cases 40`.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "algorithms/treeshap/model/json.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"

namespace retable::treeshap {
namespace {

using detail::Json;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The number that a table's value stands for.
double Coded(const TreeEnsemble& model, std::int32_t feature, double value) {
  const auto encoding = model.encodings.find(feature);
  if (encoding == model.encodings.end() || encoding->second.categories.empty()) return value;
  return encoding->second.categories.code(value).value_or(kMissing);
}

TEST(ScikitLearnModels, HaveTheValuesOfTheirTrees) {
  std::ifstream file(std::string(RETABLE_SOURCE_DIR) +
                     "/algorithms/treeshap/testing/scikit_learn.json");
  int missing = 0, several = 0, doubles = 0, sets = 0;
  const Json entries = Json::parse(file);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    const std::string text = entry.at("model").dump();
    const TreeEnsemble model = ReadModel(text);
    std::vector<double> table;
    for (const Json& row : entry.at("rows")) {
      for (std::size_t f = 0; f < row.size(); ++f) {
        const double value = row[f].is_null() ? kMissing : row[f].get<double>();
        table.push_back(Coded(model, static_cast<std::int32_t>(f), value));
        missing += row[f].is_null() ? 1 : 0;
      }
    }
    const std::vector<float> rows = EncodeRows(model, table);
    const auto want = entry.at("values").get<std::vector<double>>();
    EXPECT_LT(RelativeError(BruteForceValues(model, Block(model, rows)), want), 1e-9) << i;
    several += model.groups > 1 ? 1 : 0;
    doubles += text.find("\"rows\":\"double\"") != std::string::npos ? 1 : 0;
    sets += text.find("\"categories\"") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(entries.size(), 40u);
  EXPECT_GE(missing, 20);
  EXPECT_GE(several, 10);
  EXPECT_GE(doubles, 3);
  EXPECT_GE(sets, 1);
}

// x is split by the set {1, 2} of the levels a, b, c: left 1, right 2; missing and unknown: left.
TEST(ForestJson, SplitsByCategories) {
  const std::string text =
      R"({"format": "retable-forest", "version": 1, "features": 1, "rows": "double",
      "feature_levels": [["a", "b", "c"]], "unknown_levels_missing": true, "trees": [{
      "feature": [0, -1, -1], "threshold": [0, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1],
      "default_left": [1, 0, 0], "cover": [2, 1, 1], "value": [0, 1, 2],
      "categories": [[1, 2], null, null]}]})";
  const TreeEnsemble model = ReadModel(text);
  const FeatureEncoding& encoding = model.encodings.at(0);
  EXPECT_FALSE(encoding.refuses_unknown);
  const auto answer = [&](double code) {
    return Predict(model, std::vector<float>{encoding.encode(code)})[0];
  };
  EXPECT_EQ(answer(*encoding.categories.code("a")), 2);
  EXPECT_EQ(answer(*encoding.categories.code("b")), 1);
  EXPECT_EQ(answer(*encoding.categories.code("c")), 1);
  EXPECT_EQ(answer(kMissing), 1);
  // Only missing values go left: HistGradientBoosting makes such a set.
  const std::string sets = "[[1, 2], null, null]";
  std::string none = text;
  none.replace(none.find(sets), sets.size(), "[[], null, null]");
  const TreeEnsemble right = ReadModel(none);
  for (const double code : {0.0, 1.0, 2.0, kMissing}) {
    const std::vector<float> row = {right.encodings.at(0).encode(code)};
    EXPECT_EQ(Predict(right, row)[0], std::isnan(code) ? 1 : 2) << code;
  }
  for (const char* bad :
       {"[[-1], null, null]", "[[1e9], null, null]", "[[1]]", "[3, null, null]"}) {
    std::string damaged = text;
    damaged.replace(damaged.find(sets), sets.size(), bad);
    EXPECT_THROW(ReadModel(damaged), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace retable::treeshap
