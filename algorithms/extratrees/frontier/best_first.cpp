#include "algorithms/extratrees/frontier/best_first.hpp"

#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {
namespace {

// The nodes that best-first growth splits.
std::vector<bool> SplitNodes(const WholeTree& whole, int leaves) {
  std::vector<bool> split(whole.nodes.size());
  OpenNodes open;
  const auto add = [&](std::size_t node) {
    if (whole.nodes[node].feature >= 0) open.Add(whole.gains[node], node);
  };
  add(0);
  for (int made = 1; made < leaves && !open.empty(); ++made) {
    const std::size_t node = open.Take();
    split[node] = true;
    add(static_cast<std::size_t>(whole.nodes[node].left));
    add(static_cast<std::size_t>(whole.nodes[node].right));
  }
  return split;
}

// Fractions of the classes among the leaves below the branch `node`, which end before `end`.
void AppendFractions(const WholeTree& whole, std::size_t node, std::size_t end,
                     std::vector<double>& fractions) {
  const std::size_t row = fractions.size();
  fractions.resize(row + whole.classes, 0.0);
  double total = 0;  // whole numbers below 2^53 are added without rounding
  for (std::size_t i = node; i < end; ++i) {
    const TreeNode& leaf = whole.nodes[i];
    if (leaf.feature >= 0) continue;
    const double weight = leaf.weight * whole.units;
    total += weight;
    if ((leaf.value & kMixed) == 0) {
      fractions[row + leaf.value] += weight;
      continue;
    }
    const double* classes = whole.values + std::size_t{leaf.value & ~kMixed} * whole.classes;
    for (std::uint32_t c = 0; c < whole.classes; ++c) fractions[row + c] += classes[c];
  }
  for (std::uint32_t c = 0; c < whole.classes; ++c) {
    fractions[row + c] = DivRn(fractions[row + c], total);
  }
}

}  // namespace

Tree TopOfTree(const WholeTree& whole, int leaves) {
  struct Next {
    std::size_t node, end;  // its subtree ends before `end`
    std::int32_t parent;
  };
  const std::vector<bool> split = SplitNodes(whole, leaves);
  Tree top;
  std::vector<Next> stack{{0, whole.nodes.size(), -1}};
  while (!stack.empty()) {
    const auto [node, end, parent] = stack.back();
    stack.pop_back();
    const auto at = static_cast<std::int32_t>(top.nodes.size());
    if (parent >= 0) {
      TreeNode& above = top.nodes[static_cast<std::size_t>(parent)];
      (above.left < 0 ? above.left : above.right) = at;
    }
    TreeNode& made = top.nodes.emplace_back(whole.nodes[node]);
    made.left = made.right = -1;
    if (split[node]) {
      const auto right = static_cast<std::size_t>(whole.nodes[node].right);
      made.value = 0;
      stack.push_back({right, end, at});
      stack.push_back({node + 1, right, at});
      continue;
    }
    const bool pure = made.feature < 0 && (made.value & kMixed) == 0;
    made.feature = -1;
    made.threshold = 0;
    made.missing_left = false;
    if (pure) continue;
    if (whole.regression) {
      top.leaf_values.push_back(whole.values[made.value & ~kMixed]);
      made.value = kMixed | static_cast<std::uint32_t>(top.leaf_values.size() - 1);
    } else {
      made.value = kMixed | static_cast<std::uint32_t>(top.leaf_values.size() / whole.classes);
      AppendFractions(whole, node, end, top.leaf_values);
    }
  }
  return top;
}

}  // namespace retable::extratrees
