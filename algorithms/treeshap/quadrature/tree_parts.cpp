#include "algorithms/treeshap/quadrature/tree_parts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "algorithms/treeshap/model/path_features.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// A tree and where it is cut.
class TreeParts {
 public:
  TreeParts(const AnnotatedTree& tree, std::size_t most)
      : tree_(tree), most_(static_cast<std::int32_t>(most)) {
    Plan(0, 0, 0);
  }

  //! Splits that parts have in common, all parts together: those above the cuts.
  std::size_t repeated() const { return repeated_; }

  void Write(std::vector<AnnotatedTree>& parts) {
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      begin_ = begins_[i];
      end_ = i + 1 < begins_.size() ? begins_[i + 1] : tree_.nodes[0].leaves;
      part_ = {.group = tree_.group};
      Copy(0, 0);
      parts.push_back(std::move(part_));
    }
  }

 private:
  // Parts are neighbouring subtrees, the largest that fit. `first`: number of the first leaf.
  void Plan(std::int32_t n, std::int32_t first, std::size_t depth) {
    const AnnotatedNode& node = tree_.at(n);
    if (node.leaves > most_) {
      Plan(node.left, first, depth + 1);
      Plan(node.right, first + tree_.at(node.left).leaves, depth + 1);
    } else if (begins_.empty() || first + node.leaves - begins_.back() > most_) {
      if (!begins_.empty()) repeated_ += depth;
      begins_.push_back(first);
    }
  }

  std::int32_t Copy(std::int32_t n, std::int32_t first) {
    const auto to = part_.nodes.size();
    AnnotatedNode node = tree_.at(n);
    part_.nodes.push_back({.value = node.value});
    if (first >= end_ || first + node.leaves <= begin_) {
      part_.nodes[to].value = 0;
    } else if (node.feature < 0) {
      part_.path_features = std::max(part_.path_features, static_cast<std::int32_t>(path_.size()));
    } else {
      path_.With({node.feature}, [&] {
        const std::int32_t left_leaves = tree_.at(node.left).leaves;
        node.left = Copy(node.left, first);
        node.right = Copy(node.right, first + left_leaves);
      });
      Summarise(part_, node);
      part_.nodes[to] = node;
    }
    return static_cast<std::int32_t>(to);
  }

  const AnnotatedTree& tree_;
  std::int32_t most_;
  std::vector<std::int32_t> begins_;  // first leaf of each part
  std::size_t repeated_ = 0;
  std::int32_t begin_ = 0, end_ = 0;  // leaves of the part
  AnnotatedTree part_;
  PathFeatures<FeatureOnPath> path_;
};

}  // namespace

AnnotatedModel CutTrees(AnnotatedModel model, std::size_t most_leaves) {
  std::vector<std::vector<AnnotatedTree>> parts_of(model.trees.size());
  ParallelFor(parts_of.size(), [&](std::size_t t) {
    AnnotatedTree& tree = model.trees[t];
    const std::size_t splits = tree.nodes.size() / 2;
    if (splits >= most_leaves) {
      TreeParts parts(tree, most_leaves);
      if (parts.repeated() > 0 && 4 * parts.repeated() <= splits) return parts.Write(parts_of[t]);
    }
    parts_of[t].push_back(std::move(tree));
  });
  model.trees.clear();
  for (auto& parts : parts_of) std::ranges::move(parts, std::back_inserter(model.trees));
  return model;
}

}  // namespace retable::treeshap
