#include "algorithms/treeshap/model/tree_ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/path_features.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

template <class... Parts>
void RequireOf(std::size_t tree, std::size_t node, bool holds, const Parts&... what) {
  Require(holds, "tree ", tree, ", node ", node, ": ", what...);
}

void ValidateNode(const TreeEnsemble& model, std::size_t t, std::size_t n) {
  const auto& nodes = model.trees[t].nodes;
  const TreeNode& node = nodes[n];
  RequireOf(t, n, node.cover >= 0 && !std::isinf(node.cover), "cover ", node.cover,
            " is not a finite number >= 0; retrain, or clear negative weights");
  if (node.is_leaf()) return RequireOf(t, n, std::isfinite(node.value), "leaf value is not finite");
  const auto inside = [&](std::int32_t i) {
    return i > 0 && static_cast<std::size_t>(i) < nodes.size();
  };
  RequireOf(t, n, inside(node.left) && inside(node.right) && node.left != node.right, "children ",
            node.left, " and ", node.right, " are not two nodes of this tree; the file is damaged");
  RequireOf(t, n, node.feature < model.features, "feature ", node.feature, " of a model with ",
            model.features, " features");
  RequireOf(t, n, node.categories < static_cast<std::int32_t>(model.category_sets.size()),
            "category set out of range");
  RequireOf(t, n, node.categories >= 0 || !std::isnan(node.threshold), "threshold is NaN");
}

// Explainers narrow an interval or a set along a path, not both.
void ValidateKinds(const TreeEnsemble& model) {
  if (model.category_sets.empty()) return;
  const std::set<std::int32_t> by_category = CategoricalFeatures(model);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const auto& nodes = model.trees[t].nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const bool by_number = !nodes[n].is_leaf() && nodes[n].categories < 0;
      RequireOf(t, n, !by_number || !by_category.contains(nodes[n].feature), "feature ",
                nodes[n].feature,
                " is split by number here and by category elsewhere; RankMixedFeatures makes one "
                "kind of it");
    }
  }
}

// Visits every node below the root once, parents first: f(node index, depth).
template <class F>
void PreOrder(const Tree& tree, F f) {
  std::vector<std::pair<std::int32_t, int>> stack = {{0, 0}};
  while (!stack.empty()) {
    const auto [n, depth] = stack.back();
    stack.pop_back();
    f(n, depth);
    const TreeNode& node = tree.at(n);
    if (node.is_leaf()) continue;
    stack.emplace_back(node.right, depth + 1);
    stack.emplace_back(node.left, depth + 1);
  }
}

void ValidateShape(const TreeEnsemble& model, std::size_t t) {
  const Tree& tree = model.trees[t];
  std::vector<char> seen(tree.nodes.size(), 0);
  PreOrder(tree, [&](std::int32_t n, int depth) {
    const auto i = static_cast<std::size_t>(n);
    RequireOf(t, i, seen[i] == 0, "is the child of two nodes; the file is damaged");
    RequireOf(t, i, depth <= kMaxTreeDepth, "is deeper than ", kMaxTreeDepth, " splits");
    seen[i] = 1;
  });
}

void ValidateTree(const TreeEnsemble& model, std::size_t t) {
  const Tree& tree = model.trees[t];
  Require(!tree.nodes.empty(), "tree ", t, " has no nodes");
  RequireOf(t, 0, tree.group >= 0 && tree.group < model.groups, "its output is out of range");
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) ValidateNode(model, t, n);
  ValidateShape(model, t);
}

double MeanBelow(const Tree& tree, std::int32_t n) {
  const TreeNode& node = tree.at(n);
  if (node.is_leaf()) return node.value;
  const double left = LeftWeight(tree, node);
  return left * MeanBelow(tree, node.left) + (1 - left) * MeanBelow(tree, node.right);
}

void LeavesBelow(const Tree& tree, std::int32_t n, PathFeatures<FeatureOnPath>& path,
                 const std::function<void(int)>& visit) {
  const TreeNode& node = tree.at(n);
  if (node.is_leaf()) {
    visit(static_cast<int>(path.size()));
    return;
  }
  path.With({node.feature}, [&] {
    LeavesBelow(tree, node.left, path, visit);
    LeavesBelow(tree, node.right, path, visit);
  });
}

}  // namespace

bool CategorySet::goes_left(float x) const {
  if (!(x >= 0) || x >= static_cast<float>(left.size() * 32)) return others_left;
  return holds(static_cast<std::uint32_t>(x));
}

bool GoesLeft(const TreeEnsemble& model, const TreeNode& node, float x) {
  if (std::isnan(x)) return node.default_left;
  if (node.categories >= 0) {
    return model.category_sets[static_cast<std::size_t>(node.categories)].goes_left(x);
  }
  return ClampInfinity(x) < node.threshold;
}

double LeftWeight(const Tree& tree, const TreeNode& node) {
  const double left = tree.at(node.left).cover;
  const double right = tree.at(node.right).cover;
  return left + right > 0 ? left / (left + right) : 0.5;
}

double ExpectedValue(const Tree& tree) {
  return MeanBelow(tree, 0);
}

int Depth(const Tree& tree) {
  int deepest = 0;
  PreOrder(tree, [&](std::int32_t, int depth) { deepest = std::max(deepest, depth); });
  return deepest;
}

void ForEachLeaf(const Tree& tree, const std::function<void(int features)>& visit) {
  PathFeatures<FeatureOnPath> path;
  LeavesBelow(tree, 0, path, visit);
}

int MaxPathFeatures(const Tree& tree) {
  int most = 0;
  ForEachLeaf(tree, [&](int features) { most = std::max(most, features); });
  return most;
}

double LargestLeaf(const Tree& tree) {
  double largest = 0;
  for (const TreeNode& node : tree.nodes) {
    if (node.is_leaf()) largest = std::max(largest, std::abs(node.value));
  }
  return largest;
}

std::size_t LeafCount(const Tree& tree) {
  std::size_t leaves = 0;
  PreOrder(tree, [&](std::int32_t n, int) { leaves += tree.at(n).is_leaf() ? 1 : 0; });
  return leaves;
}

std::size_t LeafCount(const TreeEnsemble& model) {
  std::size_t leaves = 0;
  for (const Tree& tree : model.trees) leaves += LeafCount(tree);
  return leaves;
}

std::set<std::int32_t> CategoricalFeatures(const TreeEnsemble& model) {
  std::set<std::int32_t> features;
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (!node.is_leaf() && node.categories >= 0) features.insert(node.feature);
    }
  }
  return features;
}

std::vector<double> Predict(const TreeEnsemble& model, std::span<const float> row) {
  std::vector<double> margin = model.base_score;
  for (const Tree& tree : model.trees) {
    const TreeNode* node = tree.nodes.data();
    while (!node->is_leaf()) {
      const float x = row[static_cast<std::size_t>(node->feature)];
      node = &tree.nodes[static_cast<std::size_t>(GoesLeft(model, *node, x) ? node->left
                                                                            : node->right)];
    }
    margin[static_cast<std::size_t>(tree.group)] += node->value;
  }
  return margin;
}

float StrictThreshold(double limit) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (limit >= static_cast<double>(std::numeric_limits<float>::max())) return infinity;
  if (limit < -static_cast<double>(std::numeric_limits<float>::max())) return -infinity;
  float below = static_cast<float>(limit);
  if (static_cast<double>(below) > limit) below = std::nextafter(below, -infinity);
  return std::nextafter(below, infinity);
}

void Validate(const TreeEnsemble& model) {
  Require(model.features >= 0 && model.groups >= 1,
          "a model needs features >= 0 and at least one output");
  Require(model.base_score.size() == static_cast<std::size_t>(model.groups),
          "a model needs one base score per output");
  for (const double base : model.base_score) {
    Require(std::isfinite(base), "a base score is not finite");
  }
  std::vector<char> faulty(model.trees.size(), 0);
  ParallelFor(faulty.size(), [&](std::size_t t) {
    try {
      ValidateTree(model, t);
    } catch (const std::invalid_argument&) {
      faulty[t] = 1;
    }
  });
  // Of several faults the first one is told, whichever thread came first.
  const auto first = std::ranges::find(faulty, 1);
  if (first != faulty.end()) ValidateTree(model, static_cast<std::size_t>(first - faulty.begin()));
  ValidateKinds(model);
}

void ValidateRows(const TreeEnsemble& model, const RowBlock& rows) {
  Require(rows.columns == static_cast<std::size_t>(model.features), "the rows have ", rows.columns,
          " columns, the model ", model.features,
          " features; give the columns the model was trained on");
  Require(rows.values.size() == rows.rows * rows.columns, "the row block holds ",
          rows.values.size(), " values, not rows x columns");
}

}  // namespace retable::treeshap
