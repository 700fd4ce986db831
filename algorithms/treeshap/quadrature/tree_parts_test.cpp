#include "algorithms/treeshap/quadrature/tree_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

// The tree's leaves, from left to right; of a part, those that are not beside it.
std::vector<double> Leaves(const AnnotatedTree& tree) {
  std::vector<double> values;
  for (const AnnotatedNode& node : tree.nodes) {
    if (node.feature < 0 && node.value != 0) values.push_back(node.value);
  }
  return values;
}

TEST(TreeParts, EachLeafIsOfOnePart) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const AnnotatedModel whole = Annotate(RandomEnsemble(
        {.trees = 1, .features = 6 + static_cast<int>(seed), .depth = 10, .leaf_probability = 0.02},
        seed));
    const AnnotatedTree& tree = whole.trees[0];
    for (const std::size_t most : {40, 100, 300}) {
      const AnnotatedModel cut = CutTrees(whole, most);
      ASSERT_GT(cut.trees.size(), 1u);
      std::vector<double> values;
      for (const AnnotatedTree& part : cut.trees) {
        const std::vector<double> own = Leaves(part);
        EXPECT_LE(own.size(), most);
        values.insert(values.end(), own.begin(), own.end());
        EXPECT_LE(FloatPoints(part), FloatPoints(tree));
        EXPECT_LE(part.path_features, tree.path_features);
        EXPECT_LE(part.nodes[0].height, tree.nodes[0].height);
        EXPECT_EQ(part.nodes[0].feature, tree.nodes[0].feature);
      }
      EXPECT_EQ(values, Leaves(tree));
      EXPECT_LE(2 * SplitCount(cut), 5 * SplitCount(whole) / 2);
    }
  }
}

TEST(TreeParts, TreesThatFitAndChainsStayWhole) {
  const AnnotatedModel small = Annotate(RandomEnsemble({.trees = 3, .depth = 4}, 1));
  EXPECT_EQ(CutTrees(small, 16).trees.size(), 3u);
  const AnnotatedModel chain = Annotate(ChainEnsemble(200, 20, 0.9, 1));
  const AnnotatedModel cut = CutTrees(chain, 8);  // parts would repeat the chain
  ASSERT_EQ(cut.trees.size(), chain.trees.size());
  EXPECT_EQ(cut.trees[0].nodes.size(), chain.trees[0].nodes.size());
}

// Trees with leaves at very different depths: shallow parts take fewer points.
TEST(TreeParts, HaveThePointsOfTheirOwnLeaves) {
  const AnnotatedModel whole = Annotate(
      SyntheticEnsemble({.trees = 4, .depth = 22, .features = 25, .rows = 8000, .min_rows = 2}, 5));
  const AnnotatedModel cut = CutTrees(whole, 256);
  const auto points = [](const AnnotatedModel& model) {
    double all = 0;
    for (const AnnotatedTree& tree : model.trees) {
      all += FloatPoints(tree) * static_cast<double>(tree.nodes.size());
    }
    return all;
  };
  EXPECT_LT(points(cut), 0.97 * points(whole));
}

}  // namespace
}  // namespace retable::treeshap
