#include "algorithms/treeshap/tree_explainer.hpp"

#include <algorithm>
#include <cstdint>

#include "algorithms/treeshap/parallel.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retable::treeshap {

namespace {

void Copy(const std::vector<double>& from, std::span<double> to) {
  RequireSize(to.size(), from.size());
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

std::vector<double> NewResults(std::size_t count) {
  std::vector<double> results;
  results.reserve(count);
#if defined(__linux__)
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(results.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(results.data() + count) / page * page;
  // Advice alone: where it is refused the pages are small.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  results.resize(count);
  return results;
}

void RequireSize(std::size_t given, std::size_t needed) {
  if (given == needed) return;
  throw std::invalid_argument("the results need room for " + std::to_string(needed) +
                              " numbers, not " + std::to_string(given));
}

void TreeExplainer::values_to(const RowBlock& rows, std::span<double> phi) {
  Copy(values(rows), phi);
}

void TreeExplainer::interactions_to(const RowBlock& rows, std::span<double> matrices) {
  Copy(interactions(rows), matrices);
}

std::vector<double> ExpectedMargins(const TreeEnsemble& model) {
  std::vector<double> margins = model.base_score;
  for (const Tree& tree : model.trees) {
    margins[static_cast<std::size_t>(tree.group)] += ExpectedValue(tree);
  }
  return margins;
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
