#include "algorithms/treeshap/quadrature/sharing/leaf_order.hpp"

#include <algorithm>
#include <bit>

namespace retable::treeshap {

namespace {

// Leaves are numbered in preorder, from 0: neighbours in the tree are neighbours in the order.
void AddTree(const AnnotatedTree& tree, int shift, OrderTrees& out) {
  const auto root = static_cast<std::uint32_t>(out.nodes.size());
  out.roots[out.count++] = root;
  std::uint32_t leaves = 0;
  for (const AnnotatedNode& node : tree.nodes) {
    if (node.feature >= 0) {
      out.nodes.push_back({node.feature, node.threshold,
                           root + static_cast<std::uint32_t>(node.left),
                           root + static_cast<std::uint32_t>(node.right), node.missing_left});
    } else {
      out.nodes.push_back({-1, 0, leaves++ << shift, 0, false});
    }
  }
}

}  // namespace

OrderTrees ChooseOrder(const AnnotatedModel& model, std::uint32_t most) {
  std::vector<std::vector<std::size_t>> groups(static_cast<std::size_t>(model.groups));
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    if (model.trees[t].nodes[0].feature < 0) continue;
    groups[static_cast<std::size_t>(model.trees[t].group)].push_back(t);
  }
  std::vector<std::size_t> chosen;
  std::vector<int> widths;
  OrderTrees out;
  for (const std::size_t half : {0, 1, 2}) {
    for (const auto& trees : groups) {
      if (trees.empty()) continue;
      const std::size_t t = trees[(trees.size() - 1) * half / 2];
      if (std::find(chosen.begin(), chosen.end(), t) != chosen.end()) continue;
      const int width = static_cast<int>(std::bit_width(model.trees[t].nodes.size() / 2));
      if (chosen.size() == std::min(most, kOrderTrees) || out.bits + width > kOrderBits) break;
      chosen.push_back(t);
      widths.push_back(width);
      out.bits += width;
    }
  }
  int shift = out.bits;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    shift -= widths[i];
    AddTree(model.trees[chosen[i]], shift, out);
  }
  return out;
}

}  // namespace retable::treeshap
