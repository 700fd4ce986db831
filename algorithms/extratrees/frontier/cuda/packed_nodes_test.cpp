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

// Checks the places of nodes in preorder.
struct PlaceChecker {
  const frontier::PackedForest& packed;
  std::vector<frontier::NodeLink>& links;

  std::uint32_t Link(std::uint32_t node) {
    std::uint32_t size = 1;
    for (std::uint32_t side = 0; packed.hot[node].feature >= 0 && side < 2; ++side) {
      const std::uint32_t child = packed.hot[node].left + side;
      links[child].parent = node;
      size += Link(child);
    }
    return links[node].size = size;
  }
  void Check(const Tree& tree, std::uint32_t root, std::uint32_t trees) {
    std::vector<std::pair<std::int32_t, std::uint32_t>> stack{{0, root}};
    while (!stack.empty()) {
      const auto [at, node] = stack.back();
      stack.pop_back();
      const frontier::NodePlace place = frontier::PlaceOf(links.data(), trees, node);
      ASSERT_EQ(place.tree, root);
      ASSERT_EQ(place.at, static_cast<std::uint32_t>(at));
      const TreeNode& known = tree.nodes[static_cast<std::size_t>(at)];
      if (known.feature < 0) continue;
      stack.push_back({known.left, packed.hot[node].left});
      stack.push_back({known.right, packed.hot[node].left + 1});
    }
  }
};

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
            ->host();
    const frontier::PackedForest packed = frontier::PackTrees(forest);
    ASSERT_EQ(packed.hot.size(), forest.NodeCount());
    std::vector<frontier::NodeLink> links(packed.hot.size());
    PlaceChecker checker{packed, links};
    const auto trees = static_cast<std::uint32_t>(forest.trees.size());
    for (std::uint32_t t = 0; t < trees; ++t) checker.Link(t);
    for (std::uint32_t t = 0; t < trees; ++t) checker.Check(forest.trees[t], t, trees);
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
          ASSERT_EQ(value, tree.LeafValue(tree.nodes[leaves[i]], c, forest.classes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace retable::extratrees
