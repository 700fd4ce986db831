#include "algorithms/treeshap/published/paths.hpp"

#include <algorithm>

#include "algorithms/treeshap/model/path_features.hpp"

namespace retable::treeshap {

namespace {

struct Extractor {
  const TreeEnsemble& model;
  PathList& list;
  const Tree* tree = nullptr;
  PathFeatures<PathElement> path{};

  void Visit(std::int32_t n) {
    const TreeNode& node = tree->at(n);
    if (node.is_leaf()) {
      list.paths.push_back(
          {list.elements.size(), static_cast<std::int32_t>(path.size()), tree->group, node.value});
      list.elements.insert(list.elements.end(), path.begin(), path.end());
      return;
    }
    const PathElement above = path.ValueOf({.feature = node.feature});
    for (const bool left : {true, false}) {
      path.With(Narrowed(above, model, *tree, node, left, list.category_sets),
                [&] { Visit(left ? node.left : node.right); });
    }
  }
};

std::uint32_t WordOf(const CategorySet& set, std::size_t i) {
  return i < set.left.size() ? set.left[i] : (set.others_left ? ~0u : 0u);
}

// Appends what is in one of the sets (-1: in any) and goes to a side of the split. Its index.
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

}  // namespace

PathList ExtractPaths(const TreeEnsemble& model) {
  PathList list;
  Extractor extractor{model, list};
  for (const Tree& tree : model.trees) {
    extractor.tree = &tree;
    extractor.path.assign(1, {.lower = 0, .upper = 0});  // the bias
    extractor.Visit(0);
  }
  return list;
}

PathElement Narrowed(const PathElement& above, const TreeEnsemble& model, const Tree& tree,
                     const TreeNode& node, bool left, std::vector<CategorySet>& sets) {
  PathElement below = above;
  const double share = LeftWeight(tree, node);
  below.zero_fraction *= left ? share : 1 - share;
  below.missing_follows = below.missing_follows && node.default_left == left;
  if (node.categories >= 0) {
    const CategorySet& split = model.category_sets[static_cast<std::size_t>(node.categories)];
    below.categories = NarrowSet(below.categories, split, left, sets);
  } else if (left) {
    below.upper = std::min(below.upper, node.threshold);
  } else {
    below.lower = std::max(below.lower, node.threshold);
  }
  return below;
}

}  // namespace retable::treeshap
