#pragma once
//! @file
//! The parameters of the greedy samplers, and the growing Cholesky factor of quadrature.

#include <vector>

#include "algorithms/shapley/greedy/quadrature_math.hpp"
#include "algorithms/shapley/kernels/permutation_kernel.hpp"

namespace retable::shapley {

struct GreedyOptions {
  KernelKind kernel = KernelKind::kMallows;
  double lambda = 4;
  std::size_t candidates = 25;

  //! @throws std::invalid_argument for an unknown kernel or no candidates.
  static GreedyOptions From(const Parameters& parameters);
};

std::vector<ParameterInfo> GreedyParameters();

//! The work of choosing n orders of d from so many candidates a step: all candidates are compared
//! with all that were chosen before, pair by pair of players in words of 64 (Spearman: d products);
//! quadrature solves for each as well, n^3 / 6 multiply-adds.
std::vector<Work> GreedyWork(const GreedyOptions& options, std::size_t n, int d, bool quadrature);

//! K = L L' by rows, with v = L^-1 1. Rows are padded with zeros to LaneDot's width; the diagonal
//! is kept apart.
class CholeskyRows {
 public:
  explicit CholeskyRows(std::size_t capacity);
  std::size_t stride() const { return stride_; }
  const double* row(std::size_t i) const { return factor_.data() + i * stride_; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  double along(std::size_t i) const { return along_[i]; }
  //! Appends the row left of its diagonal, size() entries.
  void Add(const double* left, const RowSums& sums, const QuadratureScale& scale);
  std::size_t size() const { return diagonal_.size(); }
  //! K^-1 1, scaled to the sum of one. O(n^2).
  std::vector<double> Weights() const;

 private:
  std::size_t stride_;
  std::vector<double> factor_, diagonal_, along_;
};

}  // namespace retable::shapley
