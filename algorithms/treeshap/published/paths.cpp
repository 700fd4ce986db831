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
      NarrowCategories(element, node, left);
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

  void NarrowCategories(PathElement& element, const TreeNode& node, bool left) {
    const CategorySet& set = model.category_sets[static_cast<std::size_t>(node.categories)];
    CategorySet side = left ? set : Complement(set);
    if (element.categories >= 0) {
      side = Intersect(side, list.category_sets[static_cast<std::size_t>(element.categories)]);
    }
    element.categories = static_cast<std::int32_t>(list.category_sets.size());
    list.category_sets.push_back(std::move(side));
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

CategorySet Intersect(const CategorySet& a, const CategorySet& b) {
  CategorySet both;
  both.left.resize(std::max(a.left.size(), b.left.size()));
  for (std::size_t i = 0; i < both.left.size(); ++i) both.left[i] = WordOf(a, i) & WordOf(b, i);
  both.others_left = a.others_left && b.others_left;
  return both;
}

CategorySet Complement(const CategorySet& set) {
  CategorySet rest = set;
  for (auto& word : rest.left) word = ~word;
  rest.others_left = !set.others_left;
  return rest;
}

}  // namespace retable::treeshap
