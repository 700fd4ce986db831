#include "algorithms/extratrees/forest.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "algorithms/extratrees/split_rules.hpp"

namespace retable::extratrees {

ConstantRule ParseConstantRule(const std::string& name) {
  if (name == "scikit-learn") return ConstantRule::kScikitLearn;
  if (name == "geurts") return ConstantRule::kGeurts;
  if (name == "report") return ConstantRule::kReport;
  throw std::invalid_argument("constant_rule \"" + name +
                              "\" is none of scikit-learn, geurts, report");
}

const char* ConstantRuleName(ConstantRule rule) {
  switch (rule) {
    case ConstantRule::kScikitLearn:
      return "scikit-learn";
    case ConstantRule::kGeurts:
      return "geurts";
    default:
      return "report";
  }
}

ClassLabels EncodeLabels(std::span<const double> targets) {
  ClassLabels labels;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!std::isfinite(targets[i])) {
      throw std::invalid_argument("target of row " + std::to_string(i) +
                                  " is not finite: drop the row or give it a class");
    }
  }
  labels.values.assign(targets.begin(), targets.end());
  std::sort(labels.values.begin(), labels.values.end());
  labels.values.erase(std::unique(labels.values.begin(), labels.values.end()), labels.values.end());
  labels.codes.reserve(targets.size());
  for (const double target : targets) {
    const auto at = std::lower_bound(labels.values.begin(), labels.values.end(), target);
    labels.codes.push_back(static_cast<std::uint32_t>(at - labels.values.begin()));
  }
  return labels;
}

std::uint32_t ResolveMaxFeatures(int max_features, std::size_t columns) {
  if (max_features < 0 || static_cast<std::size_t>(max_features) > columns) {
    throw std::invalid_argument("max_features is " + std::to_string(max_features) +
                                ": give 0 (square root) to " + std::to_string(columns));
  }
  if (max_features > 0) return static_cast<std::uint32_t>(max_features);
  const auto root = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(columns)));
  return std::max(root, 1u);
}

namespace {

void CheckOptions(const ForestOptions& options) {
  if (options.n_trees < 1) throw std::invalid_argument("n_trees must be at least 1");
  if (options.max_depth < 0) throw std::invalid_argument("max_depth must be 0 (no limit) or more");
  if (options.min_samples_split < 2) {
    throw std::invalid_argument("min_samples_split must be at least 2");
  }
  if (options.min_samples_leaf < 1) {
    throw std::invalid_argument("min_samples_leaf must be at least 1");
  }
  if (!(options.min_impurity_decrease >= 0)) {
    throw std::invalid_argument("min_impurity_decrease must be 0 or more");
  }
}

}  // namespace

std::uint32_t CheckTraining(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
                            const ForestOptions& options) {
  CheckOptions(options);
  if (data.rows == 0 || data.columns == 0) {
    throw std::invalid_argument("no data: a forest needs at least one row and one feature");
  }
  if (data.rows > kMaxRows) {
    throw std::invalid_argument(std::to_string(data.rows) + " rows: exact Gini holds up to " +
                                std::to_string(kMaxRows) + "; train on a sample of the rows");
  }
  if (labels.size() != data.rows) {
    throw std::invalid_argument(std::to_string(labels.size()) + " labels for " +
                                std::to_string(data.rows) + " rows");
  }
  ResolveMaxFeatures(options.max_features, data.columns);
  const std::uint32_t classes = *std::max_element(labels.begin(), labels.end()) + 1;
  if (classes > kMaxClasses) {
    throw std::invalid_argument("class " + std::to_string(classes - 1) +
                                ": number the classes 0 .. " + std::to_string(kMaxClasses - 1) +
                                " (EncodeLabels does)");
  }
  return classes;
}

int Tree::Depth() const {
  std::vector<int> depth(nodes.size(), 0);
  int deepest = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    deepest = std::max(deepest, depth[i]);
    if (nodes[i].feature < 0) continue;
    depth[static_cast<std::size_t>(nodes[i].left)] = depth[i] + 1;
    depth[static_cast<std::size_t>(nodes[i].right)] = depth[i] + 1;
  }
  return deepest;
}

const TreeNode& Forest::Leaf(std::size_t tree, const float* row) const {
  const std::vector<TreeNode>& nodes = trees[tree].nodes;
  const TreeNode* node = nodes.data();
  while (node->feature >= 0) {
    const bool left = static_cast<double>(row[node->feature]) <= node->threshold;
    node = nodes.data() + (left ? node->left : node->right);
  }
  return *node;
}

std::uint64_t LeafShare(const Tree& tree, const TreeNode& leaf, std::uint32_t classes,
                        std::uint32_t c) {
  if ((leaf.value & kMixed) == 0) return leaf.value == c ? kShareUnit : 0;
  const std::size_t at = static_cast<std::size_t>(leaf.value & ~kMixed) * classes + c;
  return FractionShare(tree.leaf_counts[at], leaf.samples);
}

void Forest::PredictProba(const float* rows, std::size_t n, double* proba) const {
  std::vector<std::uint64_t> sums(classes);
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const TreeNode& leaf = Leaf(t, rows + i * columns);
      if ((leaf.value & kMixed) == 0) {
        sums[leaf.value] += kShareUnit;
        continue;
      }
      for (std::uint32_t c = 0; c < classes; ++c) sums[c] += LeafShare(trees[t], leaf, classes, c);
    }
    for (std::uint32_t c = 0; c < classes; ++c) {
      proba[i * classes + c] = ShareMean(sums[c], static_cast<std::uint32_t>(trees.size()));
    }
  }
}

std::vector<std::uint32_t> Forest::Predict(const float* rows, std::size_t n) const {
  std::vector<double> proba(classes);
  std::vector<std::uint32_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    PredictProba(rows + i * columns, 1, proba.data());
    const auto best = std::max_element(proba.begin(), proba.end());
    labels[i] = static_cast<std::uint32_t>(best - proba.begin());
  }
  return labels;
}

std::vector<double> Forest::FeatureImportances() const {
  std::vector<double> mean(columns, 0.0);
  for (const Tree& tree : trees) {
    if (tree.nodes.size() < 2) continue;
    std::vector<double> own(columns, 0.0);
    double total = 0;
    for (const TreeNode& node : tree.nodes) {
      if (node.feature < 0) continue;
      const TreeNode& l = tree.nodes[static_cast<std::size_t>(node.left)];
      const TreeNode& r = tree.nodes[static_cast<std::size_t>(node.right)];
      const double decrease =
          node.samples * node.impurity - l.samples * l.impurity - r.samples * r.impurity;
      own[static_cast<std::size_t>(node.feature)] += decrease;
      total += decrease;
    }
    if (total <= 0) continue;
    for (std::size_t f = 0; f < columns; ++f) mean[f] += own[f] / total;
  }
  double total = 0;
  for (const double value : mean) total += value;
  if (total > 0) {
    for (double& value : mean) value /= total;
  }
  return mean;
}

std::size_t Forest::NodeCount() const {
  std::size_t count = 0;
  for (const Tree& tree : trees) count += tree.nodes.size();
  return count;
}

double Forest::MeanDepth() const {
  double sum = 0;
  for (const Tree& tree : trees) sum += tree.Depth();
  return trees.empty() ? 0 : sum / static_cast<double>(trees.size());
}

double Accuracy(std::span<const std::uint32_t> predicted, std::span<const std::uint32_t> truth) {
  if (predicted.size() != truth.size() || truth.empty()) {
    throw std::invalid_argument("accuracy needs as many predictions as labels, and at least one");
  }
  std::size_t equal = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) equal += predicted[i] == truth[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(truth.size());
}

}  // namespace retable::extratrees
