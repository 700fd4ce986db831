#include "experiments/shapley/tree_game.hpp"

#include <stdexcept>

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::Tree;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeNode;

// All leaves of one tree that the pair of rows can reach.
struct LeafWalk {
  const TreeEnsemble& model;
  const Tree& tree;
  std::span<const float> row, background;
  double scale;
  std::vector<shapley::Term>& terms;

  void Visit(std::int32_t n, std::uint64_t with, std::uint64_t without) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      terms.push_back({with, without, node.value * scale});
      return;
    }
    const auto f = static_cast<std::size_t>(node.feature);
    const std::uint64_t bit = std::uint64_t{1} << f;
    const std::int32_t by_row = GoesLeft(model, node, row[f]) ? node.left : node.right;
    const std::int32_t by_background =
        GoesLeft(model, node, background[f]) ? node.left : node.right;
    if (by_row == by_background || (with & bit) != 0) return Visit(by_row, with, without);
    if ((without & bit) != 0) return Visit(by_background, with, without);
    Visit(by_row, with | bit, without);
    Visit(by_background, with, without | bit);
  }
};

}  // namespace

std::unique_ptr<shapley::TermGame> MakeTreeGame(const TreeEnsemble& model,
                                                std::span<const float> row,
                                                const RowBlock& background) {
  if (model.features > 64) {
    throw std::invalid_argument("a tree game takes at most 64 features; this model has " +
                                std::to_string(model.features));
  }
  if (model.groups != 1) throw std::invalid_argument("a tree game takes a model of one output");
  if (background.rows == 0) throw std::invalid_argument("a tree game needs background rows");
  if (row.size() != static_cast<std::size_t>(model.features) || background.columns != row.size()) {
    throw std::invalid_argument("rows and model differ in their number of features");
  }
  std::vector<shapley::Term> terms = {{0, 0, model.base_score[0]}};
  const double scale = 1.0 / static_cast<double>(background.rows);
  for (const Tree& tree : model.trees) {
    for (std::size_t b = 0; b < background.rows; ++b) {
      LeafWalk{model, tree, row, background.row(b), scale, terms}.Visit(0, 0, 0);
    }
  }
  return std::make_unique<shapley::TermGame>(model.features, std::move(terms));
}

}  // namespace retable::experiments
