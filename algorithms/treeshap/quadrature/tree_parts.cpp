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
      : tree_(tree), most_(most), first_(tree.nodes.size()), leaves_(tree.nodes.size()) {
    Count(0, 0);
    Plan(0, 0);
  }

  //! Splits that parts have in common, all parts together: those above the cuts.
  std::size_t repeated() const { return repeated_; }

  void Write(std::vector<AnnotatedTree>& parts) {
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      begin_ = begins_[i];
      end_ = i + 1 < begins_.size() ? begins_[i + 1] : leaves_[0];
      part_ = {.group = tree_.group};
      Copy(0);
      parts.push_back(std::move(part_));
    }
  }

 private:
  // Numbers the leaves. Returns how many there are at n.
  std::size_t Count(std::int32_t n, std::size_t first) {
    const AnnotatedNode& node = tree_.at(n);
    const auto at = static_cast<std::size_t>(n);
    first_[at] = first;
    leaves_[at] = 1;
    if (node.feature >= 0) {
      const std::size_t left = Count(node.left, first);
      leaves_[at] = left + Count(node.right, first + left);
    }
    return leaves_[at];
  }

  // Parts are neighbouring subtrees, the largest that fit.
  void Plan(std::int32_t n, std::size_t depth) {
    const AnnotatedNode& node = tree_.at(n);
    const auto at = static_cast<std::size_t>(n);
    if (leaves_[at] > most_) {
      Plan(node.left, depth + 1);
      Plan(node.right, depth + 1);
    } else if (begins_.empty() || first_[at] + leaves_[at] - begins_.back() > most_) {
      if (!begins_.empty()) repeated_ += depth;
      begins_.push_back(first_[at]);
    }
  }

  std::int32_t Copy(std::int32_t n) {
    const auto from = static_cast<std::size_t>(n);
    const auto to = part_.nodes.size();
    AnnotatedNode node = tree_.nodes[from];
    part_.nodes.push_back({.value = node.value});
    if (first_[from] >= end_ || first_[from] + leaves_[from] <= begin_) {
      part_.nodes[to].value = 0;
    } else if (node.feature < 0) {
      part_.path_features = std::max(part_.path_features, static_cast<std::int32_t>(path_.size()));
    } else {
      path_.With({node.feature}, [&] {
        node.left = Copy(node.left);
        node.right = Copy(node.right);
      });
      Summarise(part_, node);
      part_.nodes[to] = node;
    }
    return static_cast<std::int32_t>(to);
  }

  const AnnotatedTree& tree_;
  std::size_t most_;
  std::vector<std::size_t> first_, leaves_;  // by node: number of the first leaf, leaves
  std::vector<std::size_t> begins_;          // first leaf of each part
  std::size_t repeated_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // leaves of the part
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
