#include "algorithms/treeshap/interventional/deep_trees.hpp"

#include <algorithm>
#include <cstdint>

namespace retable::treeshap {

namespace {

enum class Source : std::uint8_t { kNone, kRow, kBackground };

struct Sums {
  double row = 0;         // leaves below, weighted for features that come from the row
  double background = 0;  // leaves below, weighted for features from the background
};

struct Traversal {
  const TreeEnsemble& model;
  const Tree& tree;
  const PairWeights& weights;
  std::span<const float> row, background;
  double* phi;
  std::vector<Source>& source;
  int rows = 0, backgrounds = 0;

  bool Left(const TreeNode& node, std::span<const float> x) const {
    return GoesLeft(model, node, x[static_cast<std::size_t>(node.feature)]);
  }

  Sums Visit(std::int32_t n) {
    const TreeNode& node = tree.at(n);
    if (node.is_leaf()) {
      return {rows > 0 ? node.value * weights(rows - 1, backgrounds) : 0,
              backgrounds > 0 ? node.value * weights(rows, backgrounds - 1) : 0};
    }
    Source& own = source[static_cast<std::size_t>(node.feature)];
    const bool row_left = Left(node, row);
    const bool background_left = Left(node, background);
    if (own == Source::kBackground) return Visit(background_left ? node.left : node.right);
    if (own == Source::kRow || row_left == background_left) {
      return Visit(row_left ? node.left : node.right);
    }
    own = Source::kRow;
    ++rows;
    const Sums with_row = Visit(row_left ? node.left : node.right);
    --rows;
    own = Source::kBackground;
    ++backgrounds;
    const Sums without = Visit(row_left ? node.right : node.left);
    --backgrounds;
    own = Source::kNone;
    phi[node.feature] += with_row.row - without.background;
    return {with_row.row + without.row, with_row.background + without.background};
  }
};

}  // namespace

// w(a, 0) = 1 / (a + 1), w(a, b) = w(a, b - 1) b / (a + b + 1): products of small ratios.
PairWeights::PairWeights(int most)
    : side_(static_cast<std::size_t>(most) + 1), table_(side_ * side_) {
  for (std::size_t a = 0; a < side_; ++a) {
    table_[a * side_] = 1.0 / static_cast<double>(a + 1);
    for (std::size_t b = 1; b < side_; ++b) {
      table_[a * side_ + b] =
          table_[a * side_ + b - 1] * static_cast<double>(b) / static_cast<double>(a + b + 1);
    }
  }
}

void DeepTrees::Prepare(const TreeEnsemble& model) {
  model_ = model;
  int most = 0;
  for (const Tree& tree : model.trees) most = std::max(most, MaxPathFeatures(tree));
  weights_ = PairWeights(most);
}

void DeepTrees::SetBackground(const RowBlock& background) {
  if (empty()) return;
  background_.assign(background.values.begin(), background.values.end());
  rows_ = background.rows;
}

void DeepTrees::Add(std::span<const float> row, double* phi) const {
  const RowBlock background{background_, rows_, row.size()};
  const std::size_t side = row.size() + 1;
  std::vector<Source> source(row.size(), Source::kNone);
  std::vector<double> sums(row.size());
  for (std::size_t t = 0; t < model_.trees.size(); ++t) {
    const Tree& tree = model_.trees[t];
    double* to = phi + static_cast<std::size_t>(tree.group) * side;
    std::ranges::fill(sums, 0.0);
    for (std::size_t b = 0; b < rows_; ++b) {
      Traversal{model_, tree, weights_, row, background.row(b), sums.data(), source}.Visit(0);
    }
    for (std::size_t f = 0; f < sums.size(); ++f) to[f] += sums[f] / static_cast<double>(rows_);
  }
}

}  // namespace retable::treeshap
