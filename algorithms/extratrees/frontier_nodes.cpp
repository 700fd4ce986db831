#include "algorithms/extratrees/frontier_nodes.hpp"

#include <tbb/parallel_for.h>

#include "algorithms/extratrees/split_rules.hpp"

namespace retable::extratrees::frontier {
namespace {

struct Visit {
  std::uint32_t node;
  std::int32_t parent;
  bool right;
};

Tree Preorder(std::span<const HotNode> hot, std::span<const ColdNode> cold,
              std::span<const std::uint32_t> leaf_counts, std::uint32_t root,
              std::uint32_t classes) {
  Tree tree;
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
    const ColdNode& c = cold[visit.node];
    TreeNode node;
    node.samples = c.samples;
    node.impurity = GiniImpurity(c.squares, c.samples);
    if (h.feature >= 0) {
      node.feature = h.feature;
      node.threshold = c.threshold;
      stack.push_back({h.left + 1, at, true});
      stack.push_back({h.left, at, false});
    } else if ((h.value & kMixed) != 0) {
      node.value = kMixed | static_cast<std::uint32_t>(tree.leaf_counts.size() / classes);
      const auto counts = leaf_counts.subspan(std::size_t{h.value & ~kMixed} * classes, classes);
      tree.leaf_counts.insert(tree.leaf_counts.end(), counts.begin(), counts.end());
    } else {
      node.value = h.value;
    }
    tree.nodes.push_back(node);
  }
  return tree;
}

}  // namespace

void AppendTrees(std::span<const HotNode> hot, std::span<const ColdNode> cold,
                 std::span<const std::uint32_t> leaf_counts, std::uint32_t trees, Forest& forest) {
  const std::size_t first = forest.trees.size();
  forest.trees.resize(first + trees);
  tbb::parallel_for(std::uint32_t{0}, trees, [&](std::uint32_t t) {
    forest.trees[first + t] = Preorder(hot, cold, leaf_counts, t, forest.classes);
  });
}

}  // namespace retable::extratrees::frontier
