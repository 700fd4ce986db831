#include "experiments/shapley/tree_game.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

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

  std::vector<std::int32_t> with, without;

  static bool Has(const std::vector<std::int32_t>& side, std::int32_t f) {
    return std::find(side.begin(), side.end(), f) != side.end();
  }

  void Visit(std::int32_t n) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      terms.push_back({with, without, node.value * scale});
      return;
    }
    const auto f = static_cast<std::size_t>(node.feature);
    const std::int32_t by_row = GoesLeft(model, node, row[f]) ? node.left : node.right;
    const std::int32_t by_background =
        GoesLeft(model, node, background[f]) ? node.left : node.right;
    if (by_row == by_background || Has(with, node.feature)) return Visit(by_row);
    if (Has(without, node.feature)) return Visit(by_background);
    with.push_back(node.feature);
    Visit(by_row);
    with.pop_back();
    without.push_back(node.feature);
    Visit(by_background);
    without.pop_back();
  }
};

}  // namespace

std::unique_ptr<shapley::TermGame> MakeTreeGame(const TreeEnsemble& model,
                                                std::span<const float> row,
                                                const RowBlock& background) {
  if (model.groups != 1) throw std::invalid_argument("a tree game takes a model of one output");
  if (background.rows == 0) throw std::invalid_argument("a tree game needs background rows");
  if (row.size() != static_cast<std::size_t>(model.features) || background.columns != row.size()) {
    throw std::invalid_argument("the model has " + std::to_string(model.features) +
                                " features, the row " + std::to_string(row.size()) +
                                ", the background " + std::to_string(background.columns));
  }
  std::vector<shapley::Term> terms = {{{}, {}, model.base_score[0]}};
  const double scale = 1.0 / static_cast<double>(background.rows);
  for (const Tree& tree : model.trees) {
    for (std::size_t b = 0; b < background.rows; ++b) {
      LeafWalk{model, tree, row, background.row(b), scale, terms, {}, {}}.Visit(0);
    }
  }
  return std::make_unique<shapley::TermGame>(model.features, terms);
}

}  // namespace retable::experiments
