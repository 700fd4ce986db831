#include <limits>
#include <span>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/model_io.hpp"

namespace retable::treeshap {

namespace {

// The tree as the output sees it.
Tree OutputTree(const ForestTree& from, std::uint32_t output, std::uint32_t outputs, double scale) {
  Tree tree;
  tree.group = static_cast<int>(output);
  tree.nodes.reserve(from.nodes.size());
  for (const ForestNode& read : from.nodes) {
    TreeNode& node = tree.nodes.emplace_back();
    node.cover = read.weight;
    if (read.feature < 0) {
      node.value = scale * from.LeafValue(read, output, outputs);
      continue;
    }
    node.feature = read.feature;
    node.left = read.left;
    node.right = read.right;
    node.default_left = read.missing_left;
    node.threshold = StrictThreshold(read.threshold);
  }
  return tree;
}

}  // namespace

TreeEnsemble ReadBinaryForest(std::string_view bytes) {
  const StoredForest forest = ReadStoredForest(std::as_bytes(std::span(bytes)));
  Require(forest.columns <= std::numeric_limits<std::int32_t>::max(),
          "the forest's bytes: an impossible number of columns");
  TreeEnsemble model;
  model.features = static_cast<std::int32_t>(forest.columns);
  model.groups = static_cast<int>(forest.outputs);
  model.base_score.assign(forest.outputs, 0.0);
  const double scale = 1.0 / static_cast<double>(forest.trees.size());
  for (const auto& tree : forest.trees) {
    for (std::uint32_t g = 0; g < forest.outputs; ++g) {
      model.trees.push_back(OutputTree(tree, g, forest.outputs, scale));
    }
  }
  for (const TrainedFeature& feature : forest.names.features) {
    const auto f = static_cast<std::int32_t>(model.feature_names.size());
    model.feature_names.push_back(feature.name);
    model.encodings[f].set_levels(feature.levels, true);
  }
  Validate(model);
  return model;
}

}  // namespace retable::treeshap
