#include "algorithms/treeshap/flop_count.hpp"

#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {
namespace {

double OfPath(double d, bool extends) {
  return d * d * 4 + (extends ? d * (d + 3) : 0);
}

}  // namespace

double PathFlops(const TreeEnsemble& model, bool interactions, bool extends_each_path) {
  double all = 0;
  for (const Tree& tree : model.trees) {
    ForEachLeaf(tree, [&](int d) {
      all += interactions && d > 0 ? d * OfPath(d - 1, extends_each_path)
                                   : OfPath(d, extends_each_path);
    });
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
