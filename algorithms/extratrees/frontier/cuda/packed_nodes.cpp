#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"

#include <stdexcept>

#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees::frontier {
namespace {

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

}  // namespace retable::extratrees::frontier
