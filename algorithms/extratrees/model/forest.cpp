#include "algorithms/extratrees/model/forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "algorithms/common/require.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {

ConstantRule ParseConstantRule(const std::string& name) {
  if (name == "scikit-learn") return ConstantRule::kScikitLearn;
  if (name == "geurts") return ConstantRule::kGeurts;
  if (name == "report") return ConstantRule::kPublished;
  throw std::invalid_argument("constant_rule \"" + name +
                              "\" is none of scikit-learn, geurts, report");
}

std::vector<float> Transposed(const FeatureMatrix& data) {
  std::vector<float> columns(data.rows * data.columns);
  ParallelFor(data.columns, [&](std::size_t f) {
    for (std::size_t i = 0; i < data.rows; ++i) {
      columns[f * data.rows + i] = data.values[i * data.columns + f];
    }
  });
  return columns;
}

std::uint32_t ResolveMaxFeatures(int max_features, std::size_t columns, bool regression) {
  Require(max_features >= 0 && static_cast<std::size_t>(max_features) <= columns,
          "max_features is ", max_features, ": give 0 (the default) to ", columns);
  if (max_features > 0) return static_cast<std::uint32_t>(max_features);
  if (regression) return static_cast<std::uint32_t>(columns);
  const auto root = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(columns)));
  return std::max(root, 1u);
}

namespace {

void CheckOptions(const ForestOptions& options) {
  Require(options.n_trees >= 1, "a forest needs at least 1 tree");
  Require(options.max_depth >= 0, "max_depth must be 0 (no limit) or more");
  Require(options.min_samples_split >= 2, "min_samples_split must be at least 2");
  Require(options.min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
  Require(options.min_weight_fraction_leaf >= 0 && options.min_weight_fraction_leaf <= 0.5,
          "min_weight_fraction_leaf must be 0 to 0.5");
  Require(options.min_impurity_decrease >= 0, "min_impurity_decrease must be 0 or more");
  Require(options.max_leaf_nodes == 0 || options.max_leaf_nodes >= 2, "max_leaf_nodes is ",
          options.max_leaf_nodes, ": give 0 (no limit), or 2 or more");
}

void CheckWeights(const Targets& targets) {
  if (targets.weights.empty()) return;
  Require(targets.weights.size() == targets.size(), targets.weights.size(), " weights for ",
          targets.size(), " rows");
  double total = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Require(targets.weights[i] >= 0 && std::isfinite(targets.weights[i]), "weight of row ", i,
            " is negative or not finite: give 0 to leave the row out");
    total += targets.weights[i];
  }
  Require(total > 0 && std::isfinite(total), "the weights add up to ", total > 0 ? "infinity" : "0",
          ": some row has to weigh more than 0, all together be finite");
}

std::uint32_t CountClasses(std::span<const std::uint32_t> labels) {
  const std::uint32_t last = *std::max_element(labels.begin(), labels.end());
  Require(last < kMaxClasses, "class ", last, ": there are ", kMaxClasses,
          " at most, numbered from 0");
  return last + 1;
}

void CheckValues(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Require(std::isfinite(values[i]), "target of row ", i,
            " is not finite: drop the row or give it a value");
  }
}

}  // namespace

std::uint32_t CheckTraining(const FeatureMatrix& data, const Targets& targets,
                            const ForestOptions& options) {
  CheckOptions(options);
  Require(data.rows > 0 && data.columns > 0,
          "no data: a forest needs at least one row and one feature");
  Require(data.rows <= kMaxRows, data.rows, " rows: exact sums hold up to ", kMaxRows,
          "; train on a sample of the rows");
  Require(targets.size() == data.rows, targets.size(), " targets for ", data.rows, " rows");
  CheckWeights(targets);
  ResolveMaxFeatures(options.max_features, data.columns);
  if (!targets.regression()) return CountClasses(targets.labels);
  CheckValues(targets.values);
  return 1;
}

Forest EmptyForest(const FeatureMatrix& data, const Targets& targets, std::uint32_t classes,
                   const ForestOptions& options) {
  Forest forest;
  forest.columns = data.columns;
  forest.classes = classes;
  forest.regression = targets.regression();
  if (!forest.regression) return forest;
  double largest = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets.weights.empty() && targets.weights[i] == 0) continue;  // in no leaf
    largest = std::max(largest, std::abs(targets.values[i]));
  }
  forest.value_bits = ValueBits(largest, options.n_trees);
  return forest;
}

namespace {

int Depth(const std::vector<TreeNode>& nodes) {
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

// What a row asks of a node, in a quarter of a cache line.
struct Step {
  float cut;
  std::int32_t feature;      // twice the feature, and 1 where missing values go left; < 0: leaf
  std::int32_t left, right;  // a leaf's: its value
};

std::vector<Step> Steps(const Tree& tree) {
  std::vector<Step> steps;
  steps.reserve(tree.nodes.size());
  for (const TreeNode& node : tree.nodes) {
    if (node.feature < 0) {
      steps.push_back({0, -1, static_cast<std::int32_t>(node.value), 0});
    } else {
      steps.push_back({LargestFloatUpTo(node.threshold), 2 * node.feature + node.missing_left,
                       node.left, node.right});
    }
  }
  return steps;
}

std::uint32_t Value(const Step& leaf) {
  return static_cast<std::uint32_t>(leaf.left);
}
std::uint32_t Value(const TreeNode& leaf) {
  return leaf.value;
}

bool GoesLeft(const Step& step, const float* row) {
  const float x = row[step.feature >> 1];
  return (x <= step.cut) | (std::isnan(x) & ((step.feature & 1) != 0));
}
bool GoesLeft(const TreeNode& node, const float* row) {
  const float x = row[node.feature];
  return (static_cast<double>(x) <= node.threshold) | (std::isnan(x) & node.missing_left);
}

template <class Node>
void Descend(const Node* nodes, const float* rows, std::size_t columns, std::size_t n,
             std::uint32_t* leaves) {
  constexpr std::size_t kTogether = 32;
  std::fill_n(leaves, n, 0);
  for (std::size_t begin = 0; begin < n; begin += kTogether) {
    std::uint32_t open[kTogether];  // the rows that have not reached their leaf
    std::size_t count = 0;
    for (; count < std::min(kTogether, n - begin); ++count) {
      open[count] = static_cast<std::uint32_t>(begin + count);
    }
    while (count > 0) {
      std::size_t still = 0;
      for (std::size_t j = 0; j < count; ++j) {
        const std::uint32_t row = open[j];
        const Node& node = nodes[leaves[row]];
        if (node.feature < 0) continue;
        // No branch: which way a row goes cannot be foreseen.
        const std::int32_t left = GoesLeft(node, rows + row * columns) ? -1 : 0;
        const std::int32_t next = node.right ^ ((node.left ^ node.right) & left);
        __builtin_prefetch(&nodes[next]);
        if constexpr (sizeof(Node) > 16) __builtin_prefetch(&nodes[next].feature);
        leaves[row] = static_cast<std::uint32_t>(next);
        open[still++] = row;
      }
      count = still;
    }
  }
}

// Adds the votes of a tree for n rows to `sums`, in units of 2^-value_bits.
template <class Node>
void AddVotes(const Forest& forest, const Tree& tree, const Node* nodes, const float* rows,
              std::size_t n, std::uint32_t* leaves, std::int64_t* sums) {
  const std::int64_t one = FixedPointVote(1.0, forest.value_bits);
  Descend(nodes, rows, forest.columns, n, leaves);
  for (std::size_t i = 0; i < n; ++i, sums += forest.classes) {
    const std::uint32_t value = Value(nodes[leaves[i]]);
    if ((value & kMixed) == 0) {
      sums[value] += one;
      continue;
    }
    const double* mixed = &tree.leaf_values[std::size_t{value & ~kMixed} * forest.classes];
    for (std::uint32_t c = 0; c < forest.classes; ++c) {
      sums[c] += FixedPointVote(mixed[c], forest.value_bits);
    }
  }
}

}  // namespace

void Forest::Leaves(std::size_t tree, const float* rows, std::size_t n,
                    std::uint32_t* leaves) const {
  Descend(trees[tree].nodes.data(), rows, columns, n, leaves);
}

int ValueBits(double largest, int trees) {
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  const int tree_bits = static_cast<int>(std::bit_width(static_cast<unsigned>(trees)));
  return std::clamp(62 - exponent - tree_bits, -1000, 1000);
}

void CheckTrees(const Forest& forest) {
  ParallelFor(forest.trees.size(), [&](std::size_t t) {
    CheckTree(forest.trees[t], forest.columns, forest.classes, forest.regression);
  });
}

void CheckValueBits(const Forest& forest) {
  double largest = forest.regression ? 0 : 1;  // a class's fraction is at most 1
  for (const Tree& tree : forest.trees) {
    for (const double value : tree.leaf_values) largest = std::max(largest, std::abs(value));
  }
  Require(std::abs(forest.value_bits) <= 1000 &&
              forest.value_bits <= ValueBits(largest, static_cast<int>(forest.trees.size())),
          "value_bits is too large for the leaves' values");
}

void Forest::PredictProba(const float* rows, std::size_t n, double* proba) const {
  // Smaller nodes are worth making where rows visit more of them than there are.
  std::vector<std::vector<Step>> steps(16 * n * trees.size() > NodeCount() ? trees.size() : 0);
  ParallelFor(steps.size(), [&](std::size_t t) { steps[t] = Steps(trees[t]); });
  // A tree at a time for all rows of a block: its nodes stay in the cache, and so do the rows.
  constexpr std::size_t kMostRows = 1024;
  const std::size_t size =
      std::clamp<std::size_t>(65536 / std::max<std::size_t>(columns, 1), 32, kMostRows);
  ParallelBlocks(n, size, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    std::vector<std::int64_t> sums(count * classes, 0);
    std::uint32_t leaves[kMostRows];
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const float* first = rows + begin * columns;
      if (steps.empty()) {
        AddVotes(*this, trees[t], trees[t].nodes.data(), first, count, leaves, sums.data());
      } else {
        AddVotes(*this, trees[t], steps[t].data(), first, count, leaves, sums.data());
      }
    }
    for (std::size_t k = 0; k < sums.size(); ++k) {
      proba[begin * classes + k] =
          MeanVote(sums[k], static_cast<std::uint32_t>(trees.size()), value_bits);
    }
  });
}

std::vector<std::uint32_t> Forest::Predict(const float* rows, std::size_t n) const {
  Require(!regression, "a regression forest has values, not classes");
  std::vector<double> proba(n * classes);
  PredictProba(rows, n, proba.data());
  return LikeliestClasses(proba, classes);
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
          node.weight * node.impurity - l.weight * l.impurity - r.weight * r.impurity;
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
  for (const Tree& tree : trees) sum += Depth(tree.nodes);
  return trees.empty() ? 0 : sum / static_cast<double>(trees.size());
}

std::vector<std::uint32_t> LikeliestClasses(std::span<const double> proba, std::uint32_t classes) {
  std::vector<std::uint32_t> labels(proba.size() / classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double* mine = proba.data() + i * classes;
    labels[i] = static_cast<std::uint32_t>(std::max_element(mine, mine + classes) - mine);
  }
  return labels;
}

std::vector<Work> FitWork(const FeatureMatrix& data, const Forest& grown,
                          const ForestOptions& options) {
  const auto tried = ResolveMaxFeatures(options.max_features, data.columns, grown.regression);
  double samples = 0;
  for (const Tree& tree : grown.trees) {
    for (const TreeNode& node : tree.nodes) samples += node.feature >= 0 ? node.samples : 0;
  }
  if (!grown.trees.empty()) samples *= options.n_trees / static_cast<double>(grown.trees.size());
  const double whole = 4.0 * static_cast<double>(data.rows) * static_cast<double>(data.columns);
  return {{"read", whole + samples * tried}};
}

double Accuracy(std::span<const std::uint32_t> predicted, std::span<const std::uint32_t> truth) {
  Require(predicted.size() == truth.size() && !truth.empty(),
          "accuracy needs as many predictions as labels, and at least one");
  std::size_t equal = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) equal += predicted[i] == truth[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(truth.size());
}

}  // namespace retable::extratrees
