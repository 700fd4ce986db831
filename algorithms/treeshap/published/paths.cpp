#include "algorithms/treeshap/published/paths.hpp"

#include <algorithm>
#include <limits>

namespace retable::treeshap {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Extractor {
  const TreeEnsemble& model;
  PathList& list;
  const Tree* tree = nullptr;
  std::vector<PathElement> path{};

  void Visit(std::int32_t n) {
    const TreeNode& node = tree->nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      list.paths.push_back(
          {list.elements.size(), static_cast<std::int32_t>(path.size()), tree->group, node.value});
      list.elements.insert(list.elements.end(), path.begin(), path.end());
      return;
    }
    const double left = LeftWeight(*tree, node);
    Follow(node, true, left);
    Follow(node, false, 1 - left);
  }

  void Follow(const TreeNode& node, bool left, double weight) {
    auto it = std::find_if(path.begin(), path.end(),
                           [&](const PathElement& e) { return e.feature == node.feature; });
    const auto at = it - path.begin();
    const bool fresh = it == path.end();
    if (fresh) path.push_back({node.feature, -kInfinity, kInfinity, -1, true, 1.0});
    PathElement& element = path[static_cast<std::size_t>(at)];
    const PathElement before = element;
    element.zero_fraction *= weight;
    element.missing_follows = element.missing_follows && node.default_left == left;
    if (node.categories >= 0) {
      const CategorySet& split = model.category_sets[static_cast<std::size_t>(node.categories)];
      element.categories = NarrowSet(element.categories, split, left, list.category_sets);
    } else if (left) {
      element.upper = std::min(element.upper, node.threshold);
    } else {
      element.lower = std::max(element.lower, node.threshold);
    }
    Visit(left ? node.left : node.right);
    if (fresh) {
      path.pop_back();
    } else {
      path[static_cast<std::size_t>(at)] = before;
    }
  }
};

std::uint32_t WordOf(const CategorySet& set, std::size_t i) {
  return i < set.left.size() ? set.left[i] : (set.others_left ? ~0u : 0u);
}

}  // namespace

PathList ExtractPaths(const TreeEnsemble& model) {
  PathList list;
  Extractor extractor{model, list};
  for (const Tree& tree : model.trees) {
    extractor.tree = &tree;
    extractor.path = {PathElement{}};
    extractor.path[0].feature = -1;
    extractor.Visit(0);
  }
  return list;
}

std::int32_t NarrowSet(std::int32_t set, const CategorySet& split, bool left,
                       std::vector<CategorySet>& sets) {
  CategorySet side = split;
  if (!left) {
    for (auto& word : side.left) word = ~word;
    side.others_left = !split.others_left;
  }
  if (set >= 0) {
    const CategorySet& within = sets[static_cast<std::size_t>(set)];
    CategorySet both;
    both.left.resize(std::max(side.left.size(), within.left.size()));
    for (std::size_t i = 0; i < both.left.size(); ++i) {
      both.left[i] = WordOf(side, i) & WordOf(within, i);
    }
    both.others_left = side.others_left && within.others_left;
    side = std::move(both);
  }
  sets.push_back(std::move(side));
  return static_cast<std::int32_t>(sets.size() - 1);
}

}  // namespace retable::treeshap
