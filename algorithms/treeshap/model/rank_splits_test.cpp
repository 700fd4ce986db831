// Encoded models decide as their trainers do: random LightGBM files against its rules on doubles,
// and features split in two ways.

#include "algorithms/treeshap/model/rank_splits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/interaction_index.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"
#include "base/cuda/devices.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

namespace retable::treeshap {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A split as LightGBM stores it.
struct LightgbmSplit {
  int feature = 0;
  bool categorical = false;
  double threshold = 0;
  int missing = 0;  // 0: none, 1: zero, 2: NaN
  bool default_left = false;
  std::vector<std::uint32_t> words;
  int left = 0, right = 0;  // as in the file: below zero, a leaf
};

struct LightgbmTree {
  std::vector<LightgbmSplit> splits;
  std::vector<double> values, counts;
};

// Tree::NumericalDecision and Tree::CategoricalDecision of LightGBM 4.7, and what its predictor
// does before: values in [-1e-35f, 1e-35f] are not stored.
bool DecidesLeft(const LightgbmSplit& split, double value) {
  const auto is_zero = [](double x) { return x >= -1e-35f && x <= 1e-35f; };
  if (is_zero(value)) value = 0;
  if (split.categorical) {
    if (std::isnan(value) || value >= 2147483648.0 || value <= -1) return false;
    const auto category = static_cast<std::uint32_t>(static_cast<int>(value));
    return category / 32 < split.words.size() &&
           ((split.words[category / 32] >> (category % 32)) & 1u) != 0;
  }
  if (std::isnan(value) && split.missing != 2) value = 0;
  if ((split.missing == 1 && is_zero(value)) || (split.missing == 2 && std::isnan(value))) {
    return split.default_left;
  }
  return value <= split.threshold;
}

class LightgbmMaker {
 public:
  explicit LightgbmMaker(std::uint64_t seed) : random_(seed) {
    for (int f = 0; f < kFeatures; ++f) {
      pools_.push_back(NewPool());
      ways_.push_back(Below(4));
      missing_.push_back(Below(4));
    }
  }

  LightgbmTree tree() {
    LightgbmTree tree;
    Grow(tree, 1 + Below(4));
    return tree;
  }

  // Values at, just beside and far from limits.
  double value(int feature) {
    const auto& pool = pools_[static_cast<std::size_t>(feature)];
    const double x = pool[static_cast<std::size_t>(Below(static_cast<int>(pool.size())))];
    constexpr double odd[] = {kNan, kInf, -kInf, 0, -0.0, 1e-36, -1e-35, 1e-34, -1e-34, -0.5, 3e9};
    switch (Below(8)) {
      case 0:
        return odd[Below(11)];
      case 1:
        return std::nextafter(x, kInf);
      case 2:
        return std::nextafter(x, -kInf);
      case 3:
        return std::floor(x) + Below(3);
      default:
        return x;
    }
  }

  static constexpr int kFeatures = 4;

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::vector<double> NewPool() {
    constexpr double centres[] = {1.7e9, 12345678, 0.1, 52.5, 9007199254740992.0, 0, 1e-35, -3, 4};
    constexpr double steps[] = {1, 1, 1e-17, 1e-7, 2, 1, 1e-36, 0.5, 1};
    const int k = Below(9);
    std::vector<double> pool;
    for (int i = -4; i <= 4; ++i) pool.push_back(centres[k] + i * steps[k]);
    return pool;
  }

  // Adds a subtree; returns its number as the file has it.
  int Grow(LightgbmTree& tree, int depth) {
    if (depth == 0 || Below(6) == 0) {
      tree.values.push_back(Below(2001) / 100.0 - 10);
      tree.counts.push_back(1 + Below(50));
      return -static_cast<int>(tree.values.size());
    }
    const auto at = tree.splits.size();
    tree.splits.push_back(NewSplit());
    const int left = Grow(tree, depth - 1);
    const int right = Grow(tree, depth - 1);
    tree.splits[at].left = left;
    tree.splits[at].right = right;
    return static_cast<int>(at);
  }

  LightgbmSplit NewSplit() {
    LightgbmSplit split;
    split.feature = Below(kFeatures);
    const auto f = static_cast<std::size_t>(split.feature);
    split.categorical = ways_[f] == 1 || (ways_[f] == 2 && Below(2) == 0);
    split.missing = missing_[f] < 3 ? missing_[f] : Below(3);
    split.default_left = Below(2) == 0;
    do {
      split.threshold = value(split.feature);
    } while (std::isnan(split.threshold));
    if (split.categorical) {
      split.words.resize(static_cast<std::size_t>(1 + Below(2)));
      for (auto& word : split.words) word = static_cast<std::uint32_t>(random_());
      if (Below(256) == 0) split.words.resize(12345700 / 32 + 1, 0x55u);
    }
    return split;
  }

  std::mt19937_64 random_;
  std::vector<std::vector<double>> pools_;
  std::vector<int> ways_, missing_;  // of each feature
};

template <class List, class Get>
void WriteList(std::ostream& out, const char* key, const List& list, const Get& get) {
  out << key << "=";
  bool first = true;
  for (const auto& item : list) {
    out << (first ? "" : " ") << get(item);
    first = false;
  }
  out << "\n";
}

double CountBelow(const LightgbmTree& tree, int n) {
  if (n < 0) return tree.counts[static_cast<std::size_t>(-n - 1)];
  const LightgbmSplit& split = tree.splits[static_cast<std::size_t>(n)];
  return CountBelow(tree, split.left) + CountBelow(tree, split.right);
}

std::string WriteText(const std::vector<LightgbmTree>& trees) {
  std::ostringstream out;
  out.precision(17);
  out << "tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx="
      << LightgbmMaker::kFeatures - 1 << "\n\n";
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const auto& splits = trees[t].splits;
    std::vector<double> thresholds, inner, bounds = {0};
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      const LightgbmSplit& s = splits[i];
      inner.push_back(CountBelow(trees[t], static_cast<int>(i)));
      const auto set = static_cast<double>(bounds.size() - 1);
      thresholds.push_back(s.categorical ? set : s.threshold);
      if (!s.categorical) continue;
      words.insert(words.end(), s.words.begin(), s.words.end());
      bounds.push_back(static_cast<double>(words.size()));
    }
    const auto same = [](auto x) { return x; };
    out << "Tree=" << t << "\nnum_leaves=" << trees[t].values.size()
        << "\nnum_cat=" << bounds.size() - 1 << "\n";
    WriteList(out, "split_feature", splits, [](const auto& s) { return s.feature; });
    WriteList(out, "threshold", thresholds, same);
    WriteList(out, "decision_type", splits, [](const auto& s) {
      return (s.categorical ? 1 : 0) + (s.default_left ? 2 : 0) + 4 * s.missing;
    });
    WriteList(out, "left_child", splits, [](const auto& s) { return s.left; });
    WriteList(out, "right_child", splits, [](const auto& s) { return s.right; });
    WriteList(out, "leaf_value", trees[t].values, same);
    WriteList(out, "leaf_count", trees[t].counts, same);
    WriteList(out, "internal_count", inner, same);
    if (bounds.size() > 1) WriteList(out, "cat_boundaries", bounds, same);
    if (bounds.size() > 1) WriteList(out, "cat_threshold", words, same);
    out << "\n";
  }
  out << "end of trees\n";
  return out.str();
}

std::unique_ptr<TreeExplainer> Prepared(const char* method, Device device,
                                        const TreeEnsemble& model) {
  Parameters parameters;
  const bool floats = device == Device::kCuda || std::string(method) == "Interventional";
  if (!floats) parameters["precision"] = std::string("double");
  auto explainer = Registry<TreeExplainer>::Instance().Make(method, device, parameters);
  explainer->prepare(model);
  return explainer;
}

// What is wrong with the model that these trees are read as; empty where nothing is.
std::string Wrong(const std::vector<LightgbmTree>& trees, const std::vector<double>& table,
                  Device device) {
  const TreeEnsemble model = ReadModel(WriteText(trees));
  const std::vector<float> values = EncodeRows(model, table);
  const RowBlock rows = Block(model, values);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for (std::size_t t = 0; t < trees.size(); ++t) {
      for (std::size_t i = 0; i < trees[t].splits.size(); ++i) {
        const auto f = static_cast<std::size_t>(trees[t].splits[i].feature);
        const double x = table[r * rows.columns + f];
        if (GoesLeft(model, model.trees[t].nodes[i], rows.row(r)[f]) !=
            DecidesLeft(trees[t].splits[i], x)) {
          std::ostringstream text;
          text.precision(17);
          text << "tree " << t << " split " << i << " decides otherwise on " << x;
          return text.str();
        }
      }
    }
  }
  const double limit = device == Device::kCpu ? 1e-12 : 1e-5;
  const auto want = BruteForceValues(model, rows);
  for (const char* method : {"Quadrature", "TreeShap", "GPUTreeShap"}) {
    if (Registry<TreeExplainer>::Instance().Find(method, device) == nullptr) continue;
    const double error = RelativeError(Prepared(method, device, model)->values(rows), want);
    if (error > limit) return method + (" is wrong by " + std::to_string(error));
  }
  const auto against = Prepared("Interventional", device, model);
  against->set_background(rows.slice(0, 3));
  const double error =
      RelativeError(against->values(rows), BruteForceInterventional(model, rows, rows.slice(0, 3)));
  return error > limit ? "Interventional is wrong by " + std::to_string(error) : "";
}

void CompareRandomModels(Device device) {
  const std::uint64_t seed = FreshSeed();
  OracleClock clock;
  for (std::uint64_t i = 0; clock.more(); ++i) {
    LightgbmMaker maker(seed + i);
    std::vector<LightgbmTree> trees(4);
    for (LightgbmTree& tree : trees) tree = maker.tree();
    std::vector<double> table;
    for (int k = 0; k < 8 * LightgbmMaker::kFeatures; ++k) {
      table.push_back(maker.value(k % LightgbmMaker::kFeatures));
    }
    if (Wrong(trees, table, device).empty()) continue;
    const auto few =
        Shrink(trees, [&](const auto& some) { return !Wrong(some, table, device).empty(); });
    FAIL() << "RETABLE_TEST_SEED=" << seed + i << ": " << Wrong(few, table, device) << "\n"
           << WriteText(few).substr(0, 4000);
  }
  std::cout << clock.cases() << " models\n";
}

TEST(OracleLightgbm, RandomModelsDecideAndExplainAsItsRulesSay) {
  CompareRandomModels(Device::kCpu);
}

TEST(CudaLightgbm, RandomModelsDecideAndExplainAsItsRulesSay) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  CompareRandomModels(Device::kCuda);
}

// x < 3 (by number): else categories {4, 6} of x: 30 for 5, 20 for 4 and 6, 10 below 3.
const char* const kMixed = R"({"learner": {"learner_model_param":
  {"base_score": "0", "num_class": "0", "num_feature": "1"},
  "objective": {"name": "reg:squarederror"},
  "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees": [{
    "left_children": [1, -1, 3, -1, -1], "right_children": [2, -1, 4, -1, -1],
    "split_indices": [0, 0, 0, 0, 0], "split_conditions": [3, 10, 0, 30, 20],
    "default_left": [1, 0, 0, 0, 0], "sum_hessian": [10, 4, 6, 1, 5],
    "categories_nodes": [2], "categories_segments": [0], "categories_sizes": [2],
    "categories": [4, 6]}]}}}})";

TEST(MixedFeature, IsExplainedByEveryMethod) {
  const TreeEnsemble model = ReadModel(kMixed);
  const std::vector<double> table = {5,     4,    6,    2,    2.9999997,        3, 3.5, 4.5,
                                     -1e30, kInf, kNan, -0.5, 2.99999999999999, 7, 3e9, 6.999};
  const std::vector<double> want = {30, 20, 20, 10, 10, 30, 30, 20, 10, 30, 10, 10, 30, 30, 30, 20};
  const std::vector<float> values = EncodeRows(model, table);
  const RowBlock rows = Block(model, values);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    EXPECT_EQ(Predict(model, std::span(table).subspan(r, 1))[0], want[r]) << table[r];
  }
  for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
    if (method.device == Device::kCuda && !HasCudaDevice()) continue;
    const auto explainer = Registry<TreeExplainer>::Instance().Make(method.name, method.device, {});
    explainer->prepare(model);
    if (method.name == "Interventional") explainer->set_background(rows.slice(0, 2));
    const auto phi = explainer->values(rows);
    for (std::size_t r = 0; r < rows.rows; ++r) {
      EXPECT_NEAR(phi[2 * r] + phi[2 * r + 1], want[r], 1e-4) << method.name << " " << table[r];
    }
  }
}

// A model made in memory has no encodings: explainers narrow one interval or one set a feature.
TEST(MixedFeature, IsRefusedByEveryMethodWhereItHasNoEncoding) {
  TreeEnsemble model = ReadModel(kMixed);
  model.trees[0].nodes[0].categories = -1;
  model.trees[0].nodes[0].threshold = 3;
  for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
    if (method.device == Device::kCuda && !HasCudaDevice()) continue;
    const auto explainer = Registry<TreeExplainer>::Instance().Make(method.name, method.device, {});
    EXPECT_THROW(explainer->prepare(model), std::invalid_argument) << method.name;
  }
  EXPECT_THROW(TopInteractions(model, {}), std::invalid_argument);
  EXPECT_THROW(InteractionIndex(model, {}), std::invalid_argument);
  RankMixedFeatures(model);
  EXPECT_NO_THROW(Validate(model));
}

// Nor does a model made in memory come from a reader, which checks what it reads.
TEST(Children, ThatAreNoneAreRefusedByEveryMethod) {
  TreeEnsemble model = RandomEnsemble({.trees = 2, .features = 4, .depth = 3}, 7);
  auto& nodes = model.trees[1].nodes;
  const auto node = static_cast<std::size_t>(nodes[0].left);
  ASSERT_FALSE(nodes[node].is_leaf());
  const auto size = static_cast<std::int32_t>(nodes.size());
  for (const std::int32_t child : {-1, 0, static_cast<std::int32_t>(node), size, 1 << 30}) {
    nodes[node].right = child;
    for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
      if (method.device == Device::kCuda && !HasCudaDevice()) continue;
      EXPECT_THROW(method.make({})->prepare(model), std::invalid_argument) << method.name;
    }
    EXPECT_THROW(TopInteractions(model, {}), std::invalid_argument);
    EXPECT_THROW(InteractionIndex(model, {}), std::invalid_argument);
  }
}

TEST(CategoryMap, FindsWordsAndNumbers) {
  CategoryMap map;
  map.add({"a"});
  map.add({"True", "true"});
  map.add({}, 3.0);
  map.add({"7"}, 7.0);
  EXPECT_EQ(map.size(), 4u);
  EXPECT_EQ(map.code("true"), 1.0);
  EXPECT_EQ(map.code(3.0), 2.0);
  EXPECT_EQ(map.code("7"), 3.0);
  EXPECT_FALSE(map.code("3"));
  EXPECT_FALSE(map.code(1.0));
  EXPECT_EQ(map.summary(), "\"a\", \"True\", 3, \"7\"");
}

// Forests of scikit-learn compare floats with doubles, its histogram boosting doubles.
TEST(ForestJson, ComparesDoublesWhereTheFileSaysSo) {
  const std::string forest =
      R"({"format": "retable-forest", "version": 1, "features": 1, "rows": "double", "split": "<=",
      "trees": [{"feature": [0, -2, -2], "threshold": [1700000000.5, -2, -2], "left": [1, -1, -1],
      "right": [2, -1, -1], "cover": [3, 1, 2], "value": [0, 1, 2]}]})";
  const TreeEnsemble model = ReadModel(forest);
  EXPECT_EQ(Predict(model, std::vector<double>{1700000000})[0], 1);
  EXPECT_EQ(Predict(model, std::vector<double>{1700000001})[0], 2);
}

}  // namespace
}  // namespace retable::treeshap
