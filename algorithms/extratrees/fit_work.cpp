#include "algorithms/extratrees/fit_work.hpp"

namespace retable::extratrees {

std::vector<Work> FitWork(const FeatureMatrix& data, const Forest& grown,
                          const ForestOptions& options) {
  const auto tried = ResolveMaxFeatures(options.max_features, data.columns, grown.regression);
  double samples = 0;
  for (const Tree& tree : grown.trees) {
    for (const TreeNode& node : tree.nodes) samples += node.feature >= 0 ? node.samples : 0;
  }
  if (!grown.trees.empty()) samples *= options.n_trees / static_cast<double>(grown.trees.size());
  const double whole = 4.0 * static_cast<double>(data.rows) * static_cast<double>(data.columns);
  return {{"read", whole + samples * tried}};
}

}  // namespace retable::extratrees
