#pragma once
//! @file
//! Interventional values of trees whose paths are too deep for tables, pair by pair.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

//! a! b! / (a + b + 1)!, tabulated for a, b <= most.
class PairWeights {
 public:
  explicit PairWeights(int most = 0);
  double operator()(int a, int b) const {
    return table_[static_cast<std::size_t>(a) * side_ + static_cast<std::size_t>(b)];
  }
  std::size_t side() const { return side_; }
  std::span<const double> table() const { return table_; }

 private:
  std::size_t side_;
  std::vector<double> table_;
};

//! For one pair (x, b) a leaf is reached only through splits where x or b goes its way. With n_x
//! features that must come from x and n_b that must come from b, Shapley's weights are
//! (n_x - 1)! n_b! / (n_x + n_b)! for the former and -n_x! (n_b - 1)! / (n_x + n_b)! for the
//! latter. One traversal of the branches that the pair can reach returns both sums; a split that
//! separates the two adds them to its feature. Lundberg et al. 2020, algorithm 3.
class DeepTrees {
 public:
  //! Trees of a valid model, whose base scores are left out.
  void Prepare(const TreeEnsemble& model);
  //! Keeps a copy of the rows, where there are trees.
  void SetBackground(const RowBlock& background);
  //! Adds the row's values to phi, groups x (features + 1). O(trees x background rows x reachable
  //! nodes)
  void Add(std::span<const float> row, double* phi) const;
  bool empty() const { return model_.trees.empty(); }

 private:
  TreeEnsemble model_;
  PairWeights weights_;
  std::vector<float> background_;
  std::size_t rows_ = 0;
};

}  // namespace retable::treeshap
