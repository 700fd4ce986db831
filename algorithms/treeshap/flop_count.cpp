#include "algorithms/treeshap/flop_count.hpp"

#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {
namespace {

double OfPath(double d, bool extends) {
  return d * d * 4 + (extends ? d * (d + 3) : 0);
}

// Sums a cost over the leaves of a tree; `path` counts how often each feature was met on the way.
class Leaves {
 public:
  Leaves(const Tree& tree, std::size_t features, bool interactions, bool extends)
      : tree_(tree), interactions_(interactions), extends_(extends), path_(features, 0) {}

  double Sum(std::int32_t n = 0, int distinct = 0) {
    const TreeNode& node = tree_.nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      const double d = distinct;
      return interactions_ && d > 0 ? d * OfPath(d - 1, extends_) : OfPath(d, extends_);
    }
    int& met = path_[static_cast<std::size_t>(node.feature)];
    const int more = distinct + (met == 0 ? 1 : 0);
    ++met;
    const double sum = Sum(node.left, more) + Sum(node.right, more);
    --path_[static_cast<std::size_t>(node.feature)];
    return sum;
  }

 private:
  const Tree& tree_;
  bool interactions_, extends_;
  std::vector<int> path_;
};

}  // namespace

double PathFlops(const TreeEnsemble& model, bool interactions, bool extends_each_path) {
  double all = 0;
  for (const Tree& tree : model.trees) {
    all += Leaves(tree, static_cast<std::size_t>(model.features), interactions, extends_each_path)
               .Sum();
  }
  return all;
}

double QuadratureFlops(const TreeEnsemble& model) {
  double all = 0;
  for (const Tree& tree : model.trees) {
    double of_point = 0;
    for (const TreeNode& node : tree.nodes) {
      if (node.is_leaf()) continue;
      const bool over_leaves = tree.nodes[static_cast<std::size_t>(node.left)].is_leaf() &&
                               tree.nodes[static_cast<std::size_t>(node.right)].is_leaf();
      of_point += over_leaves ? 4 : 10;
    }
    if (of_point > 0) all += of_point * ExactPoints(MaxPathFeatures(tree));
  }
  return all;
}

}  // namespace retable::treeshap
