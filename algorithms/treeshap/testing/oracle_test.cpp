// Random ensembles for as long as there is time: every method on the processor against the
// definition, all subsets of the features.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

namespace retable::treeshap {
namespace {

struct Method {
  const char* name;
  const char* precision;
  double tolerance;  // of the largest leaf values, all trees together
};
constexpr Method kMethods[] = {{"TreeShap", "double", 1e-11},    {"TreeShap", "float", 5e-5},
                               {"GPUTreeShap", "double", 1e-11}, {"GPUTreeShap", "float", 5e-5},
                               {"Quadrature", "double", 1e-11},  {"Quadrature", "float", 2e-6}};

std::unique_ptr<TreeExplainer> Prepared(const Method& method, const TreeEnsemble& model,
                                        Parameters parameters = {}) {
  parameters["precision"] = std::string(method.precision);
  auto explainer = Registry<TreeExplainer>::Instance().Make(method.name, Device::kCpu, parameters);
  explainer->prepare(model);
  return explainer;
}

// What a sum of leaves is rounded to goes by the leaves: values may cancel to almost nothing.
double Scale(const TreeEnsemble& model) {
  double scale = 0;
  for (const Tree& tree : model.trees) scale += LargestLeaf(tree);
  return std::max(scale, 1e-300);
}

double Error(const TreeEnsemble& model, std::span<const double> got, std::span<const double> want) {
  double most = got.size() == want.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    most = std::isnan(error) ? INFINITY : std::max(most, error);
  }
  return most / Scale(model);
}

// Which answer of which method is wrong, and by how much; empty where all are right.
std::string Wrong(const TreeEnsemble& model, const RowBlock& rows) {
  const auto values = BruteForceValues(model, rows);
  const auto pairs = BruteForceInteractions(model, rows);
  std::string wrong;
  const auto compare = [&](const Method& method, const char* what, double error, double bound) {
    if (error <= bound) return;
    wrong += std::string(method.name) + " in " + method.precision + ", " + what + ": off by " +
             std::to_string(error) + "; ";
  };
  for (const Method& method : kMethods) {
    const auto explainer = Prepared(method, model);
    const auto phi = explainer->values(rows);
    compare(method, "values", Error(model, phi, values), method.tolerance);
    if (std::string(method.name) == "TreeShap") continue;  // it has none here
    compare(method, "interactions", Error(model, explainer->interactions(rows), pairs),
            10 * method.tolerance);
  }
  const Method exact = kMethods[4];
  const auto banzhaf = Prepared(exact, model, {{"index", std::string("banzhaf")}})->values(rows);
  compare(exact, "Banzhaf values", Error(model, banzhaf, BruteForceBanzhaf(model, rows)),
          exact.tolerance);
  return wrong;
}

std::string Shown(const TreeEnsemble& model, const std::vector<float>& row) {
  std::string text = "row:";
  for (const float x : row) text += " " + std::to_string(x);
  for (const Tree& tree : model.trees) {
    text += "\ntree of output " + std::to_string(tree.group) + ":";
    for (const TreeNode& node : tree.nodes) {
      text += node.is_leaf()
                  ? "\n  leaf " + std::to_string(node.value)
                  : "\n  feature " + std::to_string(node.feature) + " < " +
                        std::to_string(node.threshold) + " set " + std::to_string(node.categories) +
                        " to " + std::to_string(node.left) + ", " + std::to_string(node.right);
      text += " cover " + std::to_string(node.cover);
    }
  }
  return text;
}

TEST(OracleExplainers, RandomEnsemblesHaveTheValuesOfTheDefinition) {
  std::mt19937_64 random(FreshSeed());
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (OracleClock clock; clock.more();) {
    RandomEnsembleOptions options;
    options.features = 1 + below(8);
    options.groups = 1 + below(3);
    options.depth = below(7);
    options.trees = 1 + below(5);
    options.repeats = 1 + below(2);
    options.leaf_probability = 0.1 * below(5);
    options.zero_cover_probability = below(4) == 0 ? 0.3 : 0;
    options.categorical_probability = below(2) == 0 ? 0.5 : 0;
    const std::uint64_t seed = random();
    TreeEnsemble model = RandomEnsemble(options, seed);
    const auto values = RandomRows(model, 4, below(2) == 0 ? 0.0 : 0.3, seed);
    if (Wrong(model, Block(model, values)).empty()) continue;
    // The first row that shows it, then the trees that it needs.
    const auto columns = static_cast<std::size_t>(model.features);
    std::vector<float> row;
    for (std::size_t at = 0; at < values.size(); at += columns) {
      row.assign(values.begin() + static_cast<std::ptrdiff_t>(at),
                 values.begin() + static_cast<std::ptrdiff_t>(at + columns));
      if (!Wrong(model, Block(model, row)).empty()) break;
    }
    model.trees = Shrink(model.trees, [&](const std::vector<Tree>& trees) {
      TreeEnsemble smaller = model;
      smaller.trees = trees;
      return !Wrong(smaller, Block(smaller, row)).empty();
    });
    FAIL() << Wrong(model, Block(model, row)) << "\n" << Shown(model, row);
  }
}

}  // namespace
}  // namespace retable::treeshap
