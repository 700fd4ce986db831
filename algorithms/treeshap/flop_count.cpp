#include "algorithms/treeshap/flop_count.hpp"

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

double QuadratureFlops(const AnnotatedModel& model, bool in_float) {
  double all = 0;
  for (const AnnotatedTree& tree : model.trees) {
    double of_point = 0;
    for (const AnnotatedNode& node : tree.nodes) {
      if (node.feature >= 0) of_point += node.height == 1 ? 4 : 10;
    }
    if (of_point > 0) {
      all += of_point * (in_float ? FloatPoints(tree) : ExactPoints(tree.path_features));
    }
  }
  return all;
}

}  // namespace retable::treeshap
