// Model readers: small files of every format, and damaged ones.

#include "algorithms/treeshap/model/model_io.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"

namespace retable::treeshap {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double Margin(const TreeEnsemble& model, std::vector<double> row, std::size_t group = 0) {
  return Predict(model, std::span<const double>(row))[group];
}

const std::string kXgboost = R"({"learner": {"feature_names": ["a", "b"],
  "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "2"},
  "objective": {"name": "binary:logistic"},
  "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees": [{
    "left_children": [1, -1, 3, -1, -1], "right_children": [2, -1, 4, -1, -1],
    "split_indices": [0, 0, 1, 0, 0], "split_conditions": [0.5, 1.0, 0.0, 2.0, 4.0],
    "default_left": [1, 0, 0, 0, 0], "sum_hessian": [10.0, 4.0, 6.0, 1.0, 5.0],
    "categories_nodes": [2], "categories_segments": [0], "categories_sizes": [2],
    "categories": [1, 3]}]}}}})";

TEST(CategoryMap, RefusesNumbersThatADoubleDoesNotTellApart) {
  CategoryMap map;
  map.add({}, 0x1p53 - 1);
  EXPECT_THROW(map.add({}, 0x1p53), std::invalid_argument);
  EXPECT_THROW(map.add({}, -0x1p60), std::invalid_argument);
  FeatureEncoding words;
  words.set_levels({"9007199254740992", "9007199254740993"}, false);
  EXPECT_EQ(words.categories.code("9007199254740993"), 1.0);
  EXPECT_EQ(words.categories.code(0x1p53), std::nullopt);
  map.add({}, 3.0);
  EXPECT_EQ(map.code(std::nan("")), std::nullopt);
}

TEST(XgboostJson, ReadsSplitsDefaultsAndCategories) {
  const TreeEnsemble model = ReadModel(kXgboost);
  EXPECT_EQ(model.features, 2);
  EXPECT_EQ(model.feature_names[1], "b");
  EXPECT_EQ(model.base_score[0], 0.0);  // logit of one half
  EXPECT_EQ(Margin(model, {0.4f, 0}), 1);
  EXPECT_EQ(Margin(model, {kNoValue, 0}), 1);
  EXPECT_EQ(Margin(model, {0.5f, 0}), 2);   // not among the listed categories: left
  EXPECT_EQ(Margin(model, {0.5f, 3}), 4);   // listed: right
  EXPECT_EQ(Margin(model, {0.5f, 77}), 2);  // unknown: left
  EXPECT_EQ(Margin(model, {0.5f, kNoValue}), 4);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

// UBJSON holds the floats, JSON nine digits of them.
TEST(XgboostJson, HoldsFloats) {
  const std::string text = Replaced(Replaced(kXgboost, "0.5, 1.0", "0.5, 0.1"), "[10.0", "[10.1");
  const TreeEnsemble model = ReadModel(text);
  EXPECT_EQ(model.trees[0].nodes[1].value, 0.1f);
  EXPECT_EQ(model.trees[0].nodes[0].cover, 10.1f);
}

// As XGBoost writes thresholds and gains: bare. In a text they are letters.
TEST(XgboostJson, ReadsBareInfinities) {
  const std::string named = Replaced(kXgboost, R"(["a", "b"])", R"(["NaN, \"Infinity", "b"])");
  for (const auto& [word, value] : std::vector<std::pair<std::string, float>>{
           {"Infinity", std::numeric_limits<float>::infinity()},
           {"-Infinity", -std::numeric_limits<float>::infinity()}}) {
    const TreeEnsemble model =
        ReadModel(Replaced(Replaced(named, "[0.5, 1.0", "[" + word + ", 1.0"), "\"default_left\"",
                           "\"gain\": [NaN], \"default_left\""));
    EXPECT_EQ(model.trees[0].nodes[0].threshold, value);
    EXPECT_EQ(model.feature_names[0], "NaN, \"Infinity");
  }
  EXPECT_THROW(ReadModel(Replaced(kXgboost, "[0.5, 1.0", "[NaN, 1.0")), std::invalid_argument);
  EXPECT_THROW(ReadModel(Replaced(kXgboost, "[0.5, 1.0", "[0.5, Infinity")), std::invalid_argument);
}

TEST(XgboostJson, RefusesDamage) {
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"[10.0, 4.0", "[10.0, -4.0"},             // negative cover
      {"[1, -1, 3, -1, -1]", "[1, -1, 3, -1]"},  // lengths disagree
      {"[1, -1, 3, -1, -1]", "[1, -1, 9, -1, -1]"},
      {"[1, -1, 3, -1, -1]", "[1, -1, 0, -1, -1]"},  // a loop
      {"[1, -1, 3, -1, -1]", "[1, -1, 1, -1, -1]"},  // two parents
      {"[0, 0, 1, 0, 0]", "[0, 0, 2, 0, 0]"},        // feature out of range
      {"gbtree", "gblinear"},
      {"\"5E-1\"", "\"half\""},
      {"\"5E-1\"", "\"1.5\""},
      {"\"categories_sizes\": [2]", "\"categories_sizes\": [9]"},
      {"\"tree_info\": [0]", "\"tree_info\": [5]"},
      {"\"sum_hessian\"", "\"sum_hess\""}};
  for (const auto& [from, to] : damages) {
    EXPECT_THROW(ReadModel(Replaced(kXgboost, from, to)), std::invalid_argument) << to;
  }
  for (std::size_t length = 0; length < kXgboost.size(); length += 37) {
    EXPECT_THROW(ReadModel(kXgboost.substr(0, length)), std::invalid_argument) << length;
  }
}

TEST(XgboostJson, ReadsABaseScoreForEachOutput) {
  const std::string three =
      Replaced(Replaced(Replaced(kXgboost, "\"num_class\": \"0\"", "\"num_class\": \"3\""),
                        "binary:logistic", "multi:softmax"),
               "\"5E-1\"", "\"[1E-1,-2.5E0,3]\"");
  EXPECT_EQ(ReadModel(three).base_score, (std::vector<double>{0.1, -2.5, 3}));
  EXPECT_EQ(ReadModel(Replaced(three, "[1E-1,-2.5E0,3]", "[2E0]")).base_score,
            (std::vector<double>{2, 2, 2}));
  EXPECT_THROW(ReadModel(Replaced(three, "[1E-1,-2.5E0,3]", "[1,2]")), std::invalid_argument);
  EXPECT_THROW(ReadModel(Replaced(three, "[1E-1,-2.5E0,3]", "[]")), std::invalid_argument);
  EXPECT_THROW(ReadModel(Replaced(three, "[1E-1,-2.5E0,3]", "[1,,2]")), std::invalid_argument);
}

// Each of these nodes asks for two megabytes.
TEST(XgboostJson, RefusesCategorySetsThatFillTheMemory) {
  std::string trees;
  std::string info;
  const std::size_t tree_at = kXgboost.find("[{\n") + 1;
  const std::string tree = Replaced(kXgboost.substr(tree_at, kXgboost.rfind("}]") + 1 - tree_at),
                                    "[1, 3]", "[1, 16777216]");
  for (int i = 0; i < 64; ++i) {
    trees += (i > 0 ? "," : "") + tree;
    info += i > 0 ? ",0" : "0";
  }
  std::string model = kXgboost.substr(0, tree_at) + trees + "]}}}}";
  model = Replaced(model, "\"tree_info\": [0]", "\"tree_info\": [" + info + "]");
  EXPECT_THROW(ReadModel(model), std::invalid_argument);
}

TEST(XgboostJson, ReadsTheCategoriesOfATable) {
  const auto with = [](const std::string& column) {
    return ReadModel(Replaced(
        kXgboost, "\"tree_info\"",
        "\"cats\": {\"enc\": [{\"offsets\": [], \"values\": []}, " + column + "]}, \"tree_info\""));
  };
  const auto numbers = with(R"({"type": 15, "values": [3, 5, 70000000000, -9]})");
  EXPECT_FALSE(numbers.encodings.contains(0));
  EXPECT_EQ(numbers.encodings.at(1).categories.code(70000000000.0), 2.0);
  EXPECT_TRUE(numbers.encodings.at(1).refuses_unknown);
  const auto words = with(R"({"offsets": [0, 0, 1, 3], "values": [97, 98, 99]})");
  EXPECT_EQ(words.encodings.at(1).categories.code(""), 0.0);
  EXPECT_EQ(words.encodings.at(1).categories.code("bc"), 2.0);
  for (const char* bad :
       {R"({"offsets": [0, 2, 1], "values": [97, 98]})", R"({"offsets": [0, 3], "values": [97]})",
        R"({"offsets": [0, 1, 2], "values": [-61, -92]})", R"({"offsets": [0, 1]})", "7",
        R"({"offsets": [0, 1], "values": [97]}, {})", R"({"values": ["x"]})"}) {
    EXPECT_THROW(with(bad), std::invalid_argument) << bad;
  }
}

TEST(XgboostJson, DartWeighsItsTrees) {
  const std::string dart =
      Replaced(Replaced(kXgboost, R"("name": "gbtree", "model":)",
                        R"("name": "dart", "weight_drop": [0.5], "gbtree": {"model":)"),
               "}]}}}}", "}]}}}}}");
  EXPECT_EQ(Margin(ReadModel(dart), {0.4f, 0}), 0.5);
}

// multi_strategy "multi_output_tree": x0 < 3: (1, -1), else (2, -4).
const std::string kVectorLeaves = R"({"learner": {"learner_model_param":
  {"base_score": "[5E-1,0E0]", "num_class": "0", "num_feature": "1", "num_target": "2"},
  "objective": {"name": "reg:squarederror"}, "gradient_booster": {"name": "gbtree", "model":
  {"tree_info": [0], "trees": [{"left_children": [1, -1, -1], "right_children": [2, 1, 0],
  "split_indices": [0, 0, 0], "split_conditions": [3, 0, 1e-45], "default_left": [0, 0, 0],
  "sum_hessian": [4, 2, 2], "leaf_weights": [2, -4, 1, -1],
  "tree_param": {"size_leaf_vector": "2"}}]}}}})";

TEST(XgboostJson, ReadsLeavesOfSeveralOutputs) {
  const TreeEnsemble model = ReadModel(kVectorLeaves);
  ASSERT_EQ(model.groups, 2);
  EXPECT_EQ(Margin(model, {1}, 0), 1.5);
  EXPECT_EQ(Margin(model, {1}, 1), -1);
  EXPECT_EQ(Margin(model, {4}, 0), 2.5);
  EXPECT_EQ(Margin(model, {4}, 1), -4);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"leaf_weights\"", "\"weights\""},
           {"[2, -4, 1, -1]", "[2, -4, 1]"},
           {"[2, 1, 0]", "[2, 2, 0]"},
           {"\"size_leaf_vector\": \"2\"", "\"size_leaf_vector\": \"3\""}}) {
    EXPECT_THROW(ReadModel(Replaced(kVectorLeaves, from, to)), std::invalid_argument) << to;
  }
  try {  // as XGBoost before 3.2 writes them
    ReadModel(Replaced(kVectorLeaves, "\"leaf_weights\"", "\"base_weights\""));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("train the model with it"), std::string::npos);
  }
}

const std::string kLightgbm =
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\n"
    "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nthreshold=0.5 0\ndecision_type=10 1\n"
    "left_child=-1 -2\nright_child=1 -3\nleaf_value=1 2 4\nleaf_count=4 1 5\n"
    "internal_count=10 6\ncat_boundaries=0 1\ncat_threshold=10\nshrinkage=1\n\n"
    "Tree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\n\nend of trees\n";

TEST(LightgbmText, ReadsSplitsDefaultsAndCategories) {
  const TreeEnsemble model = ReadModel(kLightgbm);
  EXPECT_EQ(model.features, 2);
  EXPECT_EQ(Margin(model, {0.5f, 0}), 1.25);  // <= goes left
  EXPECT_EQ(Margin(model, {kNoValue, 0}), 1.25);
  EXPECT_EQ(Margin(model, {0.6f, 1}), 2.25);  // categories 1 and 3 go left
  EXPECT_EQ(Margin(model, {0.6f, 3}), 2.25);
  EXPECT_EQ(Margin(model, {0.6f, 2}), 4.25);
  EXPECT_EQ(Margin(model, {0.6f, kNoValue}), 4.25);
}

TEST(LightgbmText, ZeroMayBeMissing) {
  const auto model = ReadModel(Replaced(Replaced(kLightgbm, "=10 1", "=4 1"), "=0.5 0", "=-0.5 0"));
  for (const double zero : {0.0, -0.0, 1e-36, -1e-35, kNoValue}) {
    EXPECT_EQ(Margin(model, {zero, 1}), 2.25) << zero;  // to the right, though 0 > -0.5 as well
  }
  const auto left = ReadModel(Replaced(Replaced(kLightgbm, "=10 1", "=6 1"), "=0.5 0", "=-0.5 0"));
  for (const double zero : {0.0, -0.0, 1e-36, -1e-35, kNoValue}) {
    EXPECT_EQ(Margin(left, {zero, 1}), 1.25) << zero;
  }
  EXPECT_EQ(Margin(left, {1.1e-35, 1}), 2.25);
}

// A million categories, and codes that no float holds.
TEST(LightgbmText, CategoriesMayBeLarge) {
  std::string words;
  for (int w = 0; w < 20000001 / 32; ++w) words += "0 ";
  words += std::to_string(1u << (20000001 % 32));
  const auto size = std::to_string(20000001 / 32 + 1);
  const auto model =
      ReadModel(Replaced(Replaced(kLightgbm, "cat_threshold=10", "cat_threshold=" + words),
                         "cat_boundaries=0 1", "cat_boundaries=0 " + size));
  EXPECT_EQ(Margin(model, {1, 20000000}), 4.25);
  EXPECT_EQ(Margin(model, {1, 20000001}), 2.25);
  EXPECT_EQ(Margin(model, {1, 20000002}), 4.25);
  EXPECT_LE(model.category_sets[0].left.size(), 1u);
}

TEST(LightgbmText, TakesNamesThatTheDataHad) {
  const auto named = [](const std::string& names) {
    return ReadModel(Replaced(kLightgbm, "max_feature_idx=1\n",
                              "max_feature_idx=1\nfeature_names=" + names + "\n"))
        .feature_names;
  };
  EXPECT_EQ(named("age hours-per-week"), (std::vector<std::string>{"age", "hours-per-week"}));
  EXPECT_TRUE(named("Column_0 Column_1").empty());
  EXPECT_TRUE(ReadModel(kLightgbm).feature_names.empty());
  EXPECT_THROW(named("age"), std::invalid_argument);
}

TEST(LightgbmText, RefusesDamage) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"right_child=1 -3", "right_child=1 -9"},
           {"right_child=1 -3", "right_child=0 -3"},
           {"leaf_count=4 1 5", "leaf_count=4 -1 5"},
           {"split_feature=0 1", "split_feature=0 2"},
           {"split_feature=0 1", "split_feature=0"},
           {"threshold=0.5 0", "threshold=0.5 7"},
           {"decision_type=10 1", "decision_type=14 1"},
           {"num_leaves=3", "num_leaves=1e18"},
           {"end of trees", "end"}}) {
    EXPECT_THROW(ReadModel(Replaced(kLightgbm, from, to)), std::invalid_argument) << to;
  }
}

const std::string kForest = R"({"format": "retable-forest", "version": 1, "features": 2,
  "groups": 2, "split": "<=", "scale": 0.5, "trees": [{"feature": [1, -2, -2],
  "threshold": [0.5, -2, -2], "left": [1, -1, -1], "right": [2, -1, -1], "cover": [10, 4, 6],
  "value": [[0, 0], [0.2, 0.8], [1, 0]]}]})";

TEST(ForestJson, ReadsClassVotes) {
  const TreeEnsemble model = ReadModel(kForest);
  EXPECT_DOUBLE_EQ(Margin(model, {0, 0.5f}, 0), 0.1);
  EXPECT_DOUBLE_EQ(Margin(model, {0, 0.5f}, 1), 0.4);
  EXPECT_DOUBLE_EQ(Margin(model, {0, 0.6f}, 0), 0.5);
  EXPECT_THROW(ReadModel(Replaced(kForest, "\"version\": 1", "\"version\": 2")),
               std::invalid_argument);
  const std::string named =
      Replaced(kForest, "\"groups\"", "\"feature_names\": [\"a\", \"b\"], \"groups\"");
  EXPECT_EQ(ReadModel(named).feature_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_THROW(ReadModel(Replaced(named, ", \"b\"]", "]")), std::invalid_argument);
  EXPECT_THROW(ReadModel(Replaced(kForest, "[0.2, 0.8]", "[0.2]")), std::invalid_argument);
}

TEST(ForestJson, RefusesWordsThatItDoesNotKnow) {
  const auto with = [](const std::string& member) {
    return ReadModel(Replaced(kForest, R"("split": "<=")", member));
  };
  for (const char* bad : {R"("split": "<= ")", R"("split": 1)", R"("rows": "float64")"}) {
    EXPECT_THROW(with(bad), std::invalid_argument) << bad;
  }
  EXPECT_NO_THROW(with(R"("rows": "float")"));
  const std::string levels = R"("feature_levels": [["a"], []])";
  for (const char* refused : {"", R"(, "unknown_levels_missing": false)"}) {
    EXPECT_TRUE(with(levels + refused).encodings.at(0).refuses_unknown) << refused;
  }
  EXPECT_FALSE(with(levels + R"(, "unknown_levels_missing": 1)").encodings.at(0).refuses_unknown);
}

// Damage at random: a reader gives a valid model or std::invalid_argument, and nothing else.
TEST(ReadModel, SurvivesRandomDamage) {
  const Philox4x32 philox = Philox4x32::FromSeed(11);
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(UniformBelow(philox.Block(draw++).half(0), n));
  };
  const std::string alphabet = "0123456789-.eE,:[]{}\"= \nnul";
  int refused = 0;
  for (const std::string& good : {kXgboost, kVectorLeaves, kLightgbm, kForest}) {
    for (int i = 0; i < 1500; ++i) {
      std::string bad = good;
      for (std::size_t k = 0; k <= below(4); ++k) {
        const std::size_t at = below(bad.size());
        switch (below(4)) {
          case 0:
            bad[at] = alphabet[below(alphabet.size())];
            break;
          case 1:
            bad.erase(at, 1 + below(8));
            break;
          case 2:
            bad.insert(at, bad.substr(below(bad.size()), below(20)));
            break;
          default:
            bad[at] = static_cast<char>(below(256));
            break;
        }
      }
      try {
        Validate(ReadModel(bad));
      } catch (const std::invalid_argument&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ReadModel, RefusesWhatItDoesNotKnow) {
  for (const char* bytes : {"", "  \n", "hello", "[1]", "{}", "{L", "tree\n", "\x01\x02"}) {
    EXPECT_THROW(ReadModel(bytes), std::invalid_argument) << bytes;
  }
}

TEST(StrictThreshold, SplitsFloatsAsLessOrEqualDoes) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const double limit : {0.1, -0.1, 0.0, 0.5, 1e300, -1e300, 16777217.0, 1e-46}) {
    const float t = StrictThreshold(limit);
    for (const float x : {0.1f, -0.1f, 0.0f, 0.5f, kMax, -kMax, 16777216.0f, 16777218.0f,
                          std::nextafter(0.1f, 1.0f)}) {
      EXPECT_EQ(x < t, static_cast<double>(x) <= limit) << x << " " << limit;
    }
  }
}

}  // namespace
}  // namespace retable::treeshap
