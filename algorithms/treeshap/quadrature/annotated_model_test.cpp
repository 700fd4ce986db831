// How many points a tree needs: leaf by leaf, against the exact rule.

#include "algorithms/treeshap/quadrature/annotated_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

using Covers = std::vector<std::pair<std::int32_t, double>>;  // feature, product of its weights

void ForEachLeaf(const AnnotatedTree& tree,
                 const std::function<void(const AnnotatedNode&, const Covers&)>& visit,
                 std::int32_t n = 0, const Covers& path = {}) {
  const AnnotatedNode& node = tree.at(n);
  if (node.feature < 0) {
    visit(node, path);
    return;
  }
  for (const bool left : {true, false}) {
    Covers below = path;
    const double weight = left ? node.left_weight : 1 - node.left_weight;
    const auto it = std::find_if(below.begin(), below.end(),
                                 [&](const auto& f) { return f.first == node.feature; });
    if (it == below.end()) {
      below.push_back({node.feature, weight});
    } else {
      it->second *= weight;
    }
    ForEachLeaf(tree, visit, left ? node.left : node.right, below);
  }
}

// The share of each feature of a leaf's path in its value, for a row that is inside where `inside`
// says so.
std::vector<double> Shares(const Covers& path, const std::vector<bool>& inside,
                           const QuadratureRule& rule) {
  std::vector<double> shares(path.size(), 0);
  for (std::size_t q = 0; q < rule.size(); ++q) {
    const double t = rule.node[q];
    const auto factor = [&](std::size_t j) {
      return (inside[j] ? t : 0) + path[j].second * (1 - t);
    };
    for (std::size_t i = 0; i < path.size(); ++i) {
      double product = rule.weight[q] * ((inside[i] ? 1 : 0) - path[i].second);
      for (std::size_t j = 0; j < path.size(); ++j) product *= j == i ? 1 : factor(j);
      shares[i] += product;
    }
  }
  return shares;
}

// Of shares of leaves, over the largest value of one.
double LargestError(const AnnotatedTree& tree, std::mt19937_64& random, std::size_t leaves) {
  const double largest = LargestLeaf(tree);
  const QuadratureRule exact = GaussLegendre(ExactPoints(tree.path_features));
  const QuadratureRule rule = GaussLegendre(FloatPoints(tree));
  double error = 0;
  ForEachLeaf(tree, [&](const AnnotatedNode& leaf, const Covers& path) {
    if (path.empty() || leaves == 0) return;
    --leaves;
    const double value = std::abs(leaf.value) / largest;
    for (int row = 0; row < 6; ++row) {
      std::vector<bool> inside(path.size());
      for (std::size_t j = 0; j < path.size(); ++j) {
        // All, none, the rare side, the frequent side, any.
        inside[j] = row == 0   ? true
                    : row == 1 ? false
                    : row == 2 ? path[j].second < 0.5
                    : row == 3 ? path[j].second >= 0.5
                               : random() % 2 == 0;
      }
      const auto got = Shares(path, inside, rule);
      const auto want = Shares(path, inside, exact);
      for (std::size_t i = 0; i < path.size(); ++i) {
        error = std::max(error, value * std::abs(got[i] - want[i]));
      }
    }
  });
  return error;
}

TEST(FloatPoints, ErrLessThanAFloatSees) {
  std::mt19937_64 random(26);
  std::vector<TreeEnsemble> models;
  for (const double cover : {0.97, 0.9, 0.5, 0.1, 0.01, 0.0}) {
    for (const int depth : {9, 20, 40}) models.push_back(ChainEnsemble(depth, depth, cover, 5));
  }
  for (std::uint64_t i = 0; i < 6; ++i) {
    models.push_back(RandomEnsemble({.trees = 2,
                                     .features = 12 + 6 * static_cast<int>(i),
                                     .depth = 9 + static_cast<int>(i),
                                     .leaf_probability = 0.3,
                                     .zero_cover_probability = i % 2 == 0 ? 0.2 : 0},
                                    random()));
    models.push_back(SyntheticEnsemble(
        {.trees = 1, .depth = 30, .features = 60, .rows = 2000, .min_rows = 2}, random()));
  }
  for (const TreeEnsemble& model : models) {
    const AnnotatedModel annotated = Annotate(model);
    for (const AnnotatedTree& tree : annotated.trees) {
      EXPECT_LE(FloatPoints(tree), ExactPoints(tree.path_features));
      EXPECT_LE(LargestError(tree, random, 200), 0x1p-23);
    }
  }
}

// The chain's one long path: nearly an exact rule where each split takes the rare side, far fewer
// points where the sides are even.
TEST(FloatPoints, DependOnWhatThePathsLeaveOut) {
  const auto points = [](int depth, double cover) {
    return FloatPoints(Annotate(ChainEnsemble(depth, depth, cover, 5)).trees[0]);
  };
  EXPECT_EQ(points(8, 0.5), 4);
  EXPECT_EQ(points(16, 1e-6), 7);
  EXPECT_LE(points(20, 0.5), 8);
  EXPECT_LE(points(40, 0.5), 12);
  EXPECT_GE(points(40, 0.001), 12);
  EXPECT_LT(points(40, 0.5), points(40, 0.001));
  for (const TreeEnsemble& model : {ChainEnsemble(3, 3, 0.5, 1), ChainEnsemble(8, 8, 0.01, 1)}) {
    for (const AnnotatedTree& tree : Annotate(model).trees) {
      EXPECT_EQ(FloatPoints(tree), ExactPoints(tree.path_features));
    }
  }
}

}  // namespace
}  // namespace retable::treeshap
