#include "experiments/shapley/games/trees/tree_game.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::Tree;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeNode;

// The leaves of one tree that the row mixed with background rows can reach. Background rows that
// have come the same way go on together.
class LeafWalk {
 public:
  LeafWalk(const TreeEnsemble& model, std::span<const float> row, const RowBlock& background,
           std::vector<shapley::Term>& terms)
      : model_(model), row_(row), background_(background), terms_(terms) {}

  void Visit(const Tree& tree) {
    std::vector<std::uint32_t> all(background_.rows);
    std::iota(all.begin(), all.end(), 0u);
    tree_ = &tree;
    Visit(0, all);
  }

 private:
  static bool Has(const std::vector<std::int32_t>& side, std::int32_t f) {
    return std::find(side.begin(), side.end(), f) != side.end();
  }

  void Visit(std::int32_t n, std::span<std::uint32_t> rows) {
    if (rows.empty()) return;
    const TreeNode& node = tree_->nodes[static_cast<std::size_t>(n)];
    if (node.is_leaf()) {
      const double share = static_cast<double>(rows.size()) / static_cast<double>(background_.rows);
      terms_.push_back({with_, without_, node.value * share});
      return;
    }
    const auto f = static_cast<std::size_t>(node.feature);
    const bool left = GoesLeft(model_, node, row_[f]);
    const std::int32_t own = left ? node.left : node.right;
    const std::int32_t other = left ? node.right : node.left;
    if (Has(with_, node.feature)) return Visit(own, rows);
    const auto middle = std::partition(rows.begin(), rows.end(), [&](std::uint32_t b) {
      return GoesLeft(model_, node, background_.row(b)[f]) == left;
    });
    const auto same = static_cast<std::size_t>(middle - rows.begin());
    Visit(own, rows.first(same));
    const auto apart = rows.subspan(same);
    if (Has(without_, node.feature)) return Visit(other, apart);
    with_.push_back(node.feature);
    Visit(own, apart);
    with_.pop_back();
    without_.push_back(node.feature);
    Visit(other, apart);
    without_.pop_back();
  }

  const TreeEnsemble& model_;
  const Tree* tree_ = nullptr;
  std::span<const float> row_;
  const RowBlock& background_;
  std::vector<shapley::Term>& terms_;
  std::vector<std::int32_t> with_, without_;
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
  LeafWalk walk(model, row, background, terms);
  for (const Tree& tree : model.trees) walk.Visit(tree);
  return std::make_unique<shapley::TermGame>(model.features, terms);
}

}  // namespace retable::experiments
