#include "algorithms/treeshap/quadrature/sharing/leaf_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

std::uint32_t Key(const OrderTrees& trees, const float* row) {
  std::uint32_t key = 0;
  for (std::uint32_t t = 0; t < trees.count; ++t) {
    const std::uint32_t part = OrderKeyPart(trees.nodes.data(), trees.roots[t], row);
    EXPECT_EQ(key & part, 0u) << "parts overlap";
    key |= part;
  }
  return key;
}

// The leaf of a row, by the model itself.
std::int32_t LeafOf(const TreeEnsemble& model, const Tree& tree, const float* row) {
  std::int32_t n = 0;
  while (!tree.at(n).is_leaf()) {
    const TreeNode& node = tree.at(n);
    n = GoesLeft(model, node, row[node.feature]) ? node.left : node.right;
  }
  return n;
}

TEST(RowOrder, KeysAreThoseOfTheLeaves) {
  const TreeEnsemble model =
      RandomEnsemble({.trees = 4, .features = 5, .groups = 2, .depth = 6}, 3);
  const OrderTrees trees = ChooseOrder(Annotate(model));
  ASSERT_EQ(trees.count, 4u);
  EXPECT_LE(trees.bits, kOrderBits);
  const auto rows = RandomRows(model, 300, 0.2, 3);
  std::map<std::vector<std::int32_t>, std::uint32_t> keys;
  for (std::size_t r = 0; r < 300; ++r) {
    const float* row = rows.data() + 5 * r;
    std::vector<std::int32_t> leaves;
    for (const Tree& tree : model.trees) leaves.push_back(LeafOf(model, tree, row));
    const std::uint32_t key = Key(trees, row);
    EXPECT_LT(std::uint64_t{key}, std::uint64_t{1} << trees.bits);
    EXPECT_EQ(keys.try_emplace(leaves, key).first->second, key);
  }
  std::vector<std::uint32_t> distinct;
  for (const auto& [leaves, key] : keys) distinct.push_back(key);
  std::sort(distinct.begin(), distinct.end());
  EXPECT_EQ(std::unique(distinct.begin(), distinct.end()), distinct.end());
}

TEST(RowOrder, TakesWhatHasRoomAndSplits) {
  TreeEnsemble model = RandomEnsemble(
      {.trees = 3, .features = 6, .depth = 9, .leaf_probability = 0, .repeats = 4}, 5);
  for (Tree& tree : model.trees) EXPECT_EQ(LeafCount(tree), 512u);
  EXPECT_EQ(ChooseOrder(Annotate(model)).count, 3u) << "of nine bits each";
  EXPECT_EQ(ChooseOrder(Annotate(model), 1).count, 1u);
  Tree leaf;
  leaf.nodes.resize(1);
  leaf.nodes[0].cover = 1;
  model.trees = {leaf, model.trees[0], leaf};
  EXPECT_EQ(ChooseOrder(Annotate(model)).count, 1u);
  model.trees = {leaf};
  EXPECT_EQ(ChooseOrder(Annotate(model)).bits, 0);
}

}  // namespace
}  // namespace retable::treeshap
