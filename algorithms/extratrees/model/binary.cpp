#include "algorithms/extratrees/model/binary.hpp"

#include "algorithms/extratrees/model/json.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {

static_assert(TreeBytes<std::byte>::kMixed == kMixed);

std::vector<std::byte> WriteForestBytes(const Forest& forest, const ForestNames& names) {
  std::vector<TreeSize> sizes;
  for (const Tree& tree : forest.trees) {
    sizes.push_back({tree.nodes.size(), tree.leaf_values.size()});
  }
  const ForestHeader header{forest.columns, forest.classes, forest.regression, forest.value_bits,
                            names};
  return MakeForestBytes(header, sizes, [&](std::size_t t, const TreeBytes<std::byte>& out) {
    const Tree& tree = forest.trees[t];
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      out.threshold.Put(i, node.threshold);
      out.impurity.Put(i, node.impurity);
      out.weight.Put(i, node.weight);
      out.left.Put(i, node.left);
      out.right.Put(i, node.right);
      out.feature.Put(i, node.feature);
      out.samples.Put(i, node.samples);
      out.value.Put(i, node.value);
      out.missing_left.Put(i, node.missing_left ? 1 : 0);
    }
    for (std::size_t k = 0; k < out.values; ++k) out.leaf_values.Put(k, tree.leaf_values[k]);
  });
}

Forest ReadForestBytes(std::span<const std::byte> bytes, ForestNames* names) {
  ForestBytes in = OpenForestBytes(bytes);
  Forest forest;
  forest.columns = in.columns;
  forest.classes = in.outputs;
  forest.regression = in.regression;
  forest.value_bits = in.value_bits;
  forest.trees.resize(in.trees.size());
  ParallelFor(in.trees.size(), [&](std::size_t t) {
    const auto& from = in.trees[t];
    Tree& tree = forest.trees[t];
    tree.nodes.resize(from.nodes);
    for (std::size_t i = 0; i < from.nodes; ++i) {
      tree.nodes[i] = {from.threshold[i], from.impurity[i], from.weight[i],
                       from.left[i],      from.right[i],    from.feature[i],
                       from.samples[i],   from.value[i],    from.missing_left[i] != 0};
    }
    tree.leaf_values.resize(from.values);
    for (std::size_t k = 0; k < from.values; ++k) tree.leaf_values[k] = from.leaf_values[k];
  });
  CheckRead(forest);
  if (names != nullptr) *names = std::move(in.names);
  return forest;
}

Forest ReadForest(std::string_view content, ForestNames* names) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && content[first] == '{'
             ? ReadForestJson(content, names)
             : ReadForestBytes(std::as_bytes(std::span(content)), names);
}

}  // namespace retable::extratrees
