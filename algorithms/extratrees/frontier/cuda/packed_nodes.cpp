#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"

#include <stdexcept>

#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees::frontier {
namespace {

struct Visit {
  std::uint32_t node;
  std::int32_t parent;
  bool right;
};

Tree Preorder(std::span<const HotNode> hot, std::span<const NodeFacts> facts,
              std::span<const double> leaf_values, std::uint32_t root, std::uint32_t classes,
              std::size_t expected_nodes) {
  Tree tree;
  tree.nodes.reserve(expected_nodes);
  std::vector<Visit> stack{{root, -1, false}};
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    const auto at = static_cast<std::int32_t>(tree.nodes.size());
    if (visit.parent >= 0) {
      TreeNode& parent = tree.nodes[static_cast<std::size_t>(visit.parent)];
      (visit.right ? parent.right : parent.left) = at;
    }
    const HotNode& h = hot[visit.node];
    const NodeFacts& known = facts[visit.node];
    TreeNode node;
    node.samples = known.samples;
    node.weight = known.weight;
    node.impurity = known.impurity;
    if (h.feature >= 0) {
      node.feature = h.feature;
      node.threshold = known.threshold;
      node.missing_left = h.value != 0;
      stack.push_back({h.left + 1, at, true});
      stack.push_back({h.left, at, false});
    } else if ((h.value & kMixed) != 0) {
      node.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size() / classes);
      const auto values = leaf_values.subspan(std::size_t{h.value & ~kMixed} * classes, classes);
      tree.leaf_values.insert(tree.leaf_values.end(), values.begin(), values.end());
    } else {
      node.value = h.value;
    }
    tree.nodes.push_back(node);
  }
  return tree;
}

// Tree t with its root at hot[t], its children from hot[next] on and its rows of leaf_values from
// `row` on.
void Pack(const Tree& tree, std::size_t t, std::uint32_t next, std::uint32_t row,
          std::vector<HotNode>& hot) {
  std::vector<std::pair<std::int32_t, std::size_t>> stack{{0, t}};  // a node and its place
  while (!stack.empty()) {
    const auto [at, place] = stack.back();
    stack.pop_back();
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0) {
      const bool mixed = (node.value & kMixed) != 0;
      hot[place] = {0, -1, 0, mixed ? node.value + row : node.value};
      continue;
    }
    hot[place] = {LargestFloatUpTo(node.threshold), node.feature, next,
                  node.missing_left ? 1u : 0u};
    stack.push_back({node.left, next});
    stack.push_back({node.right, next + 1});
    next += 2;
  }
}

}  // namespace

PackedForest PackTrees(const Forest& forest) {
  const std::size_t trees = forest.trees.size();
  PackedForest packed;
  std::vector<std::uint64_t> next(trees), row(trees);
  std::uint64_t nodes = trees;
  for (std::size_t t = 0; t < trees; ++t) {
    next[t] = nodes;
    row[t] = packed.leaf_values.size() / forest.classes;
    nodes += forest.trees[t].nodes.size() - 1;
    packed.leaf_values.insert(packed.leaf_values.end(), forest.trees[t].leaf_values.begin(),
                              forest.trees[t].leaf_values.end());
  }
  if (nodes >> 32 != 0 || packed.leaf_values.size() / forest.classes >= kMixed) {
    throw std::invalid_argument("a forest of " + std::to_string(nodes) +
                                " nodes does not predict on a GPU: give rows of host memory");
  }
  packed.hot.resize(nodes);
  ParallelFor(trees, [&](std::size_t t) {
    Pack(forest.trees[t], t, static_cast<std::uint32_t>(next[t]),
         static_cast<std::uint32_t>(row[t]), packed.hot);
  });
  return packed;
}

void AppendTrees(std::span<const HotNode> hot, std::span<const NodeFacts> facts,
                 std::span<const double> leaf_values, std::uint32_t trees, Forest& forest) {
  const std::size_t first = forest.trees.size();
  const std::size_t expected = hot.size() / trees / 8 * 9;
  forest.trees.resize(first + trees);
  ParallelFor(trees, [&](std::size_t t) {
    forest.trees[first + t] =
        Preorder(hot, facts, leaf_values, static_cast<std::uint32_t>(t), forest.classes, expected);
  });
}

}  // namespace retable::extratrees::frontier
