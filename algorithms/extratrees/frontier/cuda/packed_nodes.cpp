#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"

#include <algorithm>
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

struct Pool {
  std::span<const HotNode> hot;
  std::span<const NodeFacts> facts;
  std::span<const double> leaf_values;
  std::uint32_t classes;

  // A node's neighbours in the pool are of other trees: each is a miss in all caches.
  void Prefetch(std::uint32_t node) const {
    __builtin_prefetch(&hot[node]);
    __builtin_prefetch(&facts[node]);
  }
};

// A tree's way from the pool into preorder, a node at a time.
class PreorderWalk {
 public:
  PreorderWalk(const Pool& pool, std::uint32_t root, std::size_t expected_nodes)
      : pool_(pool), stack_{{root, -1, false}} {
    tree_.nodes.reserve(expected_nodes);
  }

  bool done() const { return stack_.empty(); }
  Tree take() { return std::move(tree_); }

  void Step() {
    const Visit visit = stack_.back();
    stack_.pop_back();
    const auto at = static_cast<std::int32_t>(tree_.nodes.size());
    if (visit.parent >= 0) {
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(visit.parent)];
      (visit.right ? parent.right : parent.left) = at;
    }
    const HotNode& h = pool_.hot[visit.node];
    const NodeFacts& known = pool_.facts[visit.node];
    TreeNode& node = tree_.nodes.emplace_back();
    node.samples = known.samples;
    node.weight = known.weight;
    node.impurity = known.impurity;
    if (h.feature >= 0) {
      node.feature = h.feature;
      node.threshold = known.threshold;
      node.missing_left = h.value != 0;
      pool_.Prefetch(h.left);
      stack_.push_back({h.left + 1, at, true});
      stack_.push_back({h.left, at, false});
    } else if ((h.value & kMixed) != 0) {
      auto& to = tree_.leaf_values;
      node.value = kMixed | static_cast<std::uint32_t>(to.size() / pool_.classes);
      const auto values =
          pool_.leaf_values.subspan(std::size_t{h.value & ~kMixed} * pool_.classes, pool_.classes);
      to.insert(to.end(), values.begin(), values.end());
    } else {
      node.value = h.value;
    }
  }

 private:
  const Pool& pool_;
  Tree tree_;
  std::vector<Visit> stack_;
};

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
  // Trees that a thread walks by turns, to hide misses.
  const std::size_t together =
      std::clamp<std::size_t>(trees / static_cast<std::size_t>(AvailableThreads()), 1, 8);
  const std::size_t first = forest.trees.size();
  const std::size_t expected = hot.size() / trees / 8 * 9;
  const Pool pool{hot, facts, leaf_values, forest.classes};
  forest.trees.resize(first + trees);
  ParallelFor((trees + together - 1) / together, [&](std::size_t group) {
    const std::size_t begin = group * together;
    const std::size_t end = std::min<std::size_t>(trees, begin + together);
    std::vector<PreorderWalk> walks;
    for (std::size_t t = begin; t < end; ++t) {
      walks.emplace_back(pool, static_cast<std::uint32_t>(t), expected);
    }
    for (bool more = true; more;) {
      more = false;
      for (PreorderWalk& walk : walks) {
        if (walk.done()) continue;
        walk.Step();
        more = true;
      }
    }
    for (std::size_t t = begin; t < end; ++t) forest.trees[first + t] = walks[t - begin].take();
  });
}

}  // namespace retable::extratrees::frontier
