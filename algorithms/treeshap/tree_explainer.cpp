#include "algorithms/treeshap/tree_explainer.hpp"

#include <algorithm>

#include "algorithms/common/require.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

Results TreeExplainer::values(const RowBlock& rows) {
  Results phi(rows.rows * ValuesPerRow(shape_));
  values_to(rows, phi);
  return phi;
}

Results TreeExplainer::interactions(const RowBlock& rows) {
  Results matrices(rows.rows * InteractionsPerRow(shape_));
  interactions_to(rows, matrices);
  return matrices;
}

void TreeExplainer::values_to(const RowBlock& rows, std::span<double> phi) {
  ValidateRows(shape_, rows);
  RequireSize(phi.size(), rows.rows * ValuesPerRow(shape_));
  write_values(rows, phi);
}

void TreeExplainer::interactions_to(const RowBlock& rows, std::span<double> matrices) {
  ValidateRows(shape_, rows);
  RequireSize(matrices.size(), rows.rows * InteractionsPerRow(shape_));
  write_interactions(rows, matrices);
}

void RequireSize(std::size_t given, std::size_t needed) {
  Require(given == needed, "the results need room for ", needed, " numbers, not ", given);
}

std::vector<double> ExpectedMargins(const TreeEnsemble& model) {
  std::vector<double> margins = model.base_score;
  std::vector<double> means(model.trees.size());
  ParallelFor(means.size(), [&](std::size_t t) { means[t] = ExpectedValue(model.trees[t]); });
  for (std::size_t t = 0; t < means.size(); ++t) {
    margins[static_cast<std::size_t>(model.trees[t].group)] += means[t];
  }
  return margins;
}

void WriteExpected(const ResultBlocks& to, int threads) {
  ParallelFor(to.results.size() / to.block, threads, [&](std::size_t m) {
    const auto block = to.results.subspan(m * to.block, to.block);
    std::ranges::fill(block, 0.0);
    block.back() = to.expected[m % to.expected.size()];
  });
}

void FillInteractionDiagonal(std::size_t features, std::span<const double> phi,
                             std::span<double> interactions) {
  const std::size_t side = features + 1;
  ParallelFor(phi.size() / side, 0, [&](std::size_t m) {  // one matrix per row and group
    const auto values = phi.subspan(m * side, side);
    const auto matrix = interactions.subspan(m * side * side, side * side);
    for (std::size_t i = 0; i < features; ++i) {
      double rest = 0;
      for (std::size_t j = 0; j < features; ++j) rest += i == j ? 0.0 : matrix[i * side + j];
      matrix[i * side + i] = values[i] - rest;
    }
    matrix[side * side - 1] = values[features];
  });
}

}  // namespace retable::treeshap
