#pragma once
//! @file
//! Matrices of interaction values from the sums of features that meet.
//!
//! Sums lie row after row of the same pair, matrices pair after pair of the same row, and each
//! number of a pair goes to two far places. So the sums of eight rows, a cache line of each pair,
//! are put side by side first, and a matrix is written alone.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace retable::treeshap {

//! Rows whose sums are read together.
inline constexpr std::size_t kMatrixRows = 8;

//! Writes matrices of side x side numbers, of at most kMatrixRows rows and one output. pair(n): the
//! two features of sum n, the same ones for a value; sum(n, r): of row r, for all r below
//! kMatrixRows; matrix(r): where to. Half of an interaction's sum goes to each triangle. The
//! diagonal is the value less its interactions, the last corner the expected value.
//! O(rows (side^2 + sums))
template <class PairOf, class SumOf, class MatrixOf>
void WriteMatrices(std::size_t sums, std::size_t side, std::size_t rows, double expected,
                   const PairOf& pair, const SumOf& sum, const MatrixOf& matrix) {
  const auto halves = std::make_unique_for_overwrite<double[]>(kMatrixRows * sums);
  std::vector<std::array<double, kMatrixRows>> diagonal(side);
  for (std::size_t n = 0; n < sums; ++n) {
    const auto [a, b] = pair(n);
    const bool value = a == b;
    auto& of_a = diagonal[static_cast<std::size_t>(a)];
    auto& of_b = diagonal[static_cast<std::size_t>(b)];
    for (std::size_t r = 0; r < kMatrixRows; ++r) {
      const double whole = sum(n, r);
      halves[r * sums + n] = whole / 2;
      of_a[r] += value ? whole : -whole / 2;
      if (!value) of_b[r] -= whole / 2;
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    double* const to = matrix(r);
    const double* const half = halves.get() + r * sums;
    std::fill_n(to, side * side, 0.0);
    for (std::size_t n = 0; n < sums; ++n) {
      const auto [a, b] = pair(n);
      to[static_cast<std::size_t>(a) * side + static_cast<std::size_t>(b)] = half[n];
      to[static_cast<std::size_t>(b) * side + static_cast<std::size_t>(a)] = half[n];
    }
    for (std::size_t f = 0; f + 1 < side; ++f) to[f * (side + 1)] = diagonal[f][r];
    to[side * side - 1] = expected;
  }
}

}  // namespace retable::treeshap
