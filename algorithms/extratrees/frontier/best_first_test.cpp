#include "algorithms/extratrees/frontier/best_first.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "algorithms/extratrees/frontier/training_table_testing.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

//! What a GPU knows of a tree's nodes, taken from the finished tree by plain sums below each node.
struct KnownNodes {
  WholeTree whole;
  std::vector<double> values;

  KnownNodes(const Forest& forest, const Tree& tree, bool weighted) {
    const std::size_t n = tree.nodes.size();
    const std::uint32_t classes = forest.classes;
    const double units = weighted ? 4 : 1;  // weights are quarters
    std::vector<double> sums(n * classes);  // weight of each class, or weighted sum of targets
    for (std::size_t i = n; i-- > 0;) {
      const TreeNode& node = tree.nodes[i];
      for (std::uint32_t c = 0; c < classes; ++c) {
        double& sum = sums[i * classes + c];
        if (node.feature < 0) {
          sum = tree.LeafValue(node, c, forest.classes) * node.weight;
          if (!forest.regression) sum = std::round(sum * units);
        } else {
          sum = sums[static_cast<std::size_t>(node.left) * classes + c] +
                sums[static_cast<std::size_t>(node.right) * classes + c];
        }
      }
    }
    whole = {tree.nodes, std::vector<double>(n), nullptr, units, classes, forest.regression};
    const auto squares = [&](std::int32_t i) {
      double sum = 0;
      for (std::uint32_t c = 0; c < classes; ++c) {
        const double one = sums[static_cast<std::size_t>(i) * classes + c];
        sum += one * one;
      }
      return sum;
    };
    const auto whole_squares = [&](std::int32_t i) {
      return static_cast<std::uint64_t>(squares(i));
    };
    for (std::size_t i = 0; i < n; ++i) {
      TreeNode& node = whole.nodes[i];
      const auto at = static_cast<std::int32_t>(i);
      if (node.feature >= 0) {
        const TreeNode& left = tree.nodes[static_cast<std::size_t>(node.left)];
        const TreeNode& right = tree.nodes[static_cast<std::size_t>(node.right)];
        const double total = tree.nodes[0].weight;
        if (forest.regression) {
          whole.gains[i] = (node.impurity * node.weight - left.impurity * left.weight -
                            right.impurity * right.weight) /
                           total;
        } else if (weighted) {
          const double score = squares(node.left) / (units * left.weight) +
                               squares(node.right) / (units * right.weight);
          whole.gains[i] = (score - squares(at) / (units * node.weight)) / total;
        } else {
          whole.gains[i] =
              ImpurityDecrease(whole_squares(at), node.samples, whole_squares(node.left),
                               left.samples, whole_squares(node.right), tree.nodes[0].samples);
        }
      }
      if (node.feature < 0 && (node.value & kMixed) == 0) continue;
      node.value = kMixed | static_cast<std::uint32_t>(i);
    }
    values = sums;
    for (std::size_t i = 0; forest.regression && i < n; ++i) values[i] /= tree.nodes[i].weight;
    whole.values = values.data();
  }
};

void ExpectTop(const TrainingTable& table, bool regression, bool weighted, ForestOptions options) {
  const Targets targets = table.Given(regression, weighted);
  const int leaves = std::exchange(options.max_leaf_nodes, 0);
  const Forest whole = FrontierCpu(2).fit(table.matrix(), targets, options)->host();
  options.max_leaf_nodes = leaves;
  const Forest limited = FrontierCpu(2).fit(table.matrix(), targets, options)->host();
  for (std::size_t t = 0; t < whole.trees.size(); ++t) {
    const KnownNodes known(whole, whole.trees[t], weighted);
    const Tree top = TopOfTree(known.whole, leaves);
    EXPECT_TRUE(top.nodes == limited.trees[t].nodes);
    const std::vector<double>& expected = limited.trees[t].leaf_values;
    ASSERT_EQ(top.leaf_values.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Means of means are rounded; fractions of whole numbers are not.
      EXPECT_NEAR(top.leaf_values[i], expected[i], regression ? 1e-9 : 0.0);
    }
  }
}

TEST(TopOfTree, IsTheTreeThatGrowsBestFirst) {
  std::mt19937_64 random(FreshSeed());
  for (int round = 0; round < 6; ++round) {
    for (const bool weighted : {false, true}) {
      // Plain classes have no missing values; with some the gains are those of weighted ones.
      const auto classes = 2 + static_cast<std::uint32_t>(random() % 4);
      TrainingTable table =
          MakeTrainingTable(40 + random() % 300, 1 + random() % 6, classes, 50, weighted, random());
      table.weights[0] = 1;  // some row has to weigh something
      for (const bool regression : {false, true}) {
        for (const int leaves : {2, 3, 17, 1000}) {
          SCOPED_TRACE(testing::Message() << "weighted " << weighted << ", regression "
                                          << regression << ", leaves " << leaves);
          ForestOptions options{.n_trees = 2, .max_leaf_nodes = leaves, .seed = random()};
          ExpectTop(table, regression, weighted, options);
          options.max_depth = 5;
          options.min_samples_leaf = 4;
          ExpectTop(table, regression, weighted, options);
        }
      }
    }
  }
}

TEST(TopOfTree, OfEqualGainsTheFirstMadeIsSplit) {
  // A root and two branches that gain the same: with three leaves the left one is split.
  WholeTree whole{
      .nodes = std::vector<TreeNode>(7), .gains = {1, 0.5, 0, 0, 0.5, 0, 0}, .classes = 2};
  const auto branch = [&](std::size_t at, std::int32_t left, std::int32_t right) {
    whole.nodes[at].feature = 0;
    whole.nodes[at].left = left;
    whole.nodes[at].right = right;
  };
  branch(0, 1, 4);
  branch(1, 2, 3);
  branch(4, 5, 6);
  for (TreeNode& node : whole.nodes) node.weight = 1;
  whole.nodes[3].value = whole.nodes[6].value = 1;
  const Tree top = TopOfTree(whole, 3);
  ASSERT_EQ(top.nodes.size(), 5u);
  EXPECT_EQ(top.nodes[1].feature, 0);
  EXPECT_EQ(top.nodes[4].feature, -1);
  EXPECT_EQ(top.leaf_values, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(TopOfTree(whole, 4).nodes.size(), 7u);
}

}  // namespace
}  // namespace retable::extratrees
