#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"
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

}  // namespace

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
