#pragma once
//! @file
//! The k strongest interactions of each row, without the matrix of all pairs.
//!
//! A matrix has (F + 1)^2 entries for each row and output: 4.9 MB for 784 features. This search
//! never forms it. One pass over the trees (the sibling recurrence of quadrature_model.hpp) gives
//! for every feature i a bound
//!
//!     R_i >= sum_j |P_ij|,  P_ij = 2 phi_ij,
//!
//! from two extra numbers for each node and quadrature point: A, the sum of |contribution| below,
//! and H, the sum of |ratio| of the live features above. Since |P_ij| <= min(R_i, R_j), the k best
//! pairs among a set S of features are the k best of all as soon as the k-th is not below R_i for
//! any i outside of S. The same pass adds up the pairs within S, where S is what the rows before
//! needed; where the certificate fails, one more pass with S = {i : R_i > the k-th} must hold.
//! Exact, up to the rounding of float (pairs closer than that may change places).
//!
//! O(T L Q (1 + s)) a row with s the live features of S at a node, at most two passes after the
//! first rows; memory O(F + |S|^2) for each block of 16 rows. How large S gets depends on the
//! model and the rows: stats() counts it, and the artifact beyond_topk measures it. Bounds cost as
//! much as the pairs of some fifty features: for narrower models S is all features at once.
//! The question is the future work of Mitchell's thesis, chapter 4; the bound is ours.

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! A pair of features, first < second, with its interaction value phi_ij (the matrix's entry).
struct InteractionPair {
  std::int32_t first = 0;
  std::int32_t second = 0;
  double value = 0;
};

struct TopInteractionsOptions {
  std::size_t k = 10;
  int threads = 0;  //!< 0: all
  int narrow = 64;  //!< models of at most this many features are searched whole
};

//! What the last call did, as means over blocks of rows and outputs.
struct TopInteractionsStats {
  double features = 0;  //!< |S| of the pass that was certified
  double passes = 0;    //!< over the trees
};

class TopInteractions {
 public:
  //! @throws std::invalid_argument as Annotate, and for k = 0
  TopInteractions(const TreeEnsemble& model, TopInteractionsOptions options);
  ~TopInteractions();

  //! For each row and output (row-major) the k pairs of largest |value| that are not zero, the
  //! strongest first; ties by feature. @throws std::invalid_argument for rows of another shape.
  std::vector<std::vector<InteractionPair>> find(const RowBlock& rows);
  TopInteractionsStats stats() const;

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

//! The same from a whole matrix of one row and output, (features + 1)^2: the reference.
std::vector<InteractionPair> TopOfMatrix(std::span<const double> matrix, std::size_t features,
                                         std::size_t k);

}  // namespace retable::treeshap
