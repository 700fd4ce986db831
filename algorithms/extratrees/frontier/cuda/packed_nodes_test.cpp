// A forest packed for a device, walked here as the device walks it.

#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

// The leaf that the walk of a row from the root of tree t ends at.
const frontier::HotNode& WalkPacked(const frontier::PackedForest& packed, std::size_t t,
                                    const float* row) {
  const frontier::HotNode* node = &packed.hot[t];
  while (node->feature >= 0) {
    const float x = row[node->feature];
    const bool right = std::isnan(x) ? node->value == 0 : x > node->cut;
    node = &packed.hot[node->left + (right ? 1 : 0)];
  }
  return *node;
}

// What a device would know of the nodes, in their places.
std::vector<frontier::NodeFacts> FactsOf(const Forest& forest,
                                         const frontier::PackedForest& packed) {
  std::vector<frontier::NodeFacts> facts(packed.hot.size());
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    std::vector<std::pair<std::int32_t, std::size_t>> stack{{0, t}};  // a node and its place
    while (!stack.empty()) {
      const auto [at, place] = stack.back();
      stack.pop_back();
      const TreeNode& node = forest.trees[t].nodes[static_cast<std::size_t>(at)];
      facts[place] = {node.threshold, node.impurity, node.weight, node.samples, 0};
      if (node.feature < 0) continue;
      stack.push_back({node.left, packed.hot[place].left});
      stack.push_back({node.right, packed.hot[place].left + 1});
    }
  }
  return facts;
}

TEST(PackedNodes, AWalkEndsAtTheForestsOwnLeaf) {
  std::mt19937_64 random(FreshSeed());
  for (const bool regression : {false, true}) {
    const std::size_t rows = 400, columns = 5;
    std::vector<float> x(rows * columns);
    std::vector<std::uint32_t> labels(rows);
    std::vector<double> targets(rows);
    for (float& value : x) {
      value = random() % 9 == 0 ? std::nanf("") : static_cast<float>(random() % 1000) / 7;
    }
    for (std::size_t i = 0; i < rows; ++i) {
      labels[i] = static_cast<std::uint32_t>(random() % 3);
      targets[i] = static_cast<double>(random() % 50) / 3;
    }
    const ForestOptions options{
        .n_trees = static_cast<int>(1 + random() % 40), .min_samples_leaf = 4, .seed = random()};
    const Forest forest =
        FrontierCpu()
            .fit({x.data(), rows, columns},
                 regression ? Targets::Regression(targets) : Targets(labels), options)
            ->take();
    const frontier::PackedForest packed = frontier::PackTrees(forest);
    ASSERT_EQ(packed.hot.size(), forest.NodeCount());
    Forest back;
    back.classes = forest.classes;
    frontier::AppendTrees(packed.hot, FactsOf(forest, packed), packed.leaf_values,
                          static_cast<std::uint32_t>(forest.trees.size()), back);
    EXPECT_TRUE(back.trees == forest.trees);
    std::vector<std::uint32_t> leaves(rows);
    for (std::size_t t = 0; t < forest.trees.size(); ++t) {
      const Tree& tree = forest.trees[t];
      forest.Leaves(t, x.data(), rows, leaves.data());
      for (std::size_t i = 0; i < rows; ++i) {
        const frontier::HotNode& found = WalkPacked(packed, t, &x[i * columns]);
        for (std::uint32_t c = 0; c < forest.classes; ++c) {
          const double value =
              (found.value & kMixed) != 0
                  ? packed.leaf_values[std::size_t{found.value & ~kMixed} * forest.classes + c]
                  : static_cast<double>(found.value == c);
          ASSERT_EQ(value, LeafValue(forest, tree, tree.nodes[leaves[i]], c));
        }
      }
    }
  }
}

}  // namespace
}  // namespace retable::extratrees
