#include "algorithms/treeshap/testing/adversarial_trees.hpp"

#include <limits>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {

namespace {

constexpr float kMissingValue = std::numeric_limits<float>::quiet_NaN();
constexpr float kWithoutBound = std::numeric_limits<float>::infinity();

std::string Number(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

TreeNode Leaf(double value, double cover) {
  TreeNode node;
  node.value = value;
  node.cover = cover;
  return node;
}

TreeNode Split(std::int32_t feature, float threshold, double cover, std::int32_t left,
               std::int32_t right) {
  TreeNode node;
  node.feature = feature;
  node.threshold = threshold;
  node.cover = cover;
  node.left = left;
  node.right = right;
  return node;
}

TreeEnsemble OneTree(int features, std::vector<TreeNode> nodes) {
  TreeEnsemble model;
  model.features = features;
  model.base_score = {0.25};
  Tree tree;
  tree.nodes = std::move(nodes);
  model.trees.push_back(std::move(tree));
  return model;
}

// Chains: all rows on the long branch, leaving it half-way, and off it at once.
void AddChains(std::vector<AdversarialCase>& cases) {
  for (const int depth : {16, 32, 64, 127}) {
    for (const double cover : {0.9, 0.5, 0.1}) {
      for (const int features : {1, 5, 10}) {
        const auto n = static_cast<std::size_t>(features);
        std::vector<float> rows(4 * n, 0.5f);
        rows[n + n / 2] = 2.0f;
        for (std::size_t f = 0; f < n; ++f) rows[2 * n + f] = 2.0f;
        rows[3 * n] = kMissingValue;
        cases.push_back({"chain of " + std::to_string(depth) + ", cover " + Number(cover) + ", " +
                             std::to_string(features) + " features",
                         ChainEnsemble(depth, features, cover, 3), rows});
      }
    }
  }
  const std::vector<float> rows(13, 0.5f);
  cases.push_back({"chain of 13 distinct, cover 0.01", ChainEnsemble(13, 13, 0.01, 5), rows});
}

void AddRandom(std::vector<AdversarialCase>& cases) {
  const auto add = [&](const char* name, RandomEnsembleOptions options, double missing) {
    options.trees = 3;
    options.features = 7;
    options.depth = 8;
    TreeEnsemble model = RandomEnsemble(options, 41);
    std::vector<float> rows = RandomRows(model, 6, missing, 42);
    cases.push_back({name, std::move(model), std::move(rows)});
  };
  add("repeated features", {}, 0);
  add("missing values", {}, 0.5);
  add("nothing but missing values", {}, 1);
  add("zero cover", {.zero_cover_probability = 0.4}, 0.1);
  add("categorical splits", {.categorical_probability = 1}, 0.2);
  add("categorical splits without cover",
      {.zero_cover_probability = 0.3, .categorical_probability = 0.5}, 0.3);
  add("several outputs", {.groups = 3}, 0.1);
}

void AddSmall(std::vector<AdversarialCase>& cases) {
  const std::vector<float> odd = {0, 1, kMissingValue, 0, kWithoutBound, -kWithoutBound};
  cases.push_back({"single leaf", OneTree(2, {Leaf(3, 10)}), odd});
  cases.push_back({"single leaf without cover", OneTree(2, {Leaf(-3, 0)}), odd});
  cases.push_back({"stump", OneTree(2, {Split(0, 0.5f, 4, 1, 2), Leaf(1, 1), Leaf(2, 3)}), odd});
  cases.push_back(
      {"stump without cover", OneTree(2, {Split(1, 0.5f, 0, 1, 2), Leaf(1, 0), Leaf(2, 0)}), odd});
  cases.push_back({"stump with all cover left",
                   OneTree(2, {Split(1, -kWithoutBound, 5, 1, 2), Leaf(1, 5), Leaf(2, 0)}), odd});
  cases.push_back({"the same split twice",
                   OneTree(2, {Split(0, 0.5f, 8, 1, 2), Split(0, 0.5f, 6, 3, 4), Leaf(1, 2),
                               Leaf(2, 5), Leaf(-4, 1)}),
                   odd});
  cases.push_back({"leaves all equal",
                   OneTree(2, {Split(0, 0.5f, 8, 1, 2), Split(1, 0.5f, 6, 3, 4), Leaf(7, 2),
                               Leaf(7, 5), Leaf(7, 1)}),
                   odd});
  cases.push_back({"huge and tiny leaves",
                   OneTree(2, {Split(0, 0.5f, 8, 1, 2), Split(1, 0.5f, 6, 3, 4), Leaf(1e12, 2),
                               Leaf(1e-12, 5), Leaf(-1e12, 1)}),
                   odd});
  TreeEnsemble none;
  none.features = 2;
  none.base_score = {0.5};
  cases.push_back({"no trees", std::move(none), odd});
}

}  // namespace

std::vector<AdversarialCase> AdversarialCases() {
  std::vector<AdversarialCase> cases;
  AddSmall(cases);
  AddRandom(cases);
  AddChains(cases);
  return cases;
}

}  // namespace retable::treeshap
