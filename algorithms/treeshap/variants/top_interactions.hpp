#pragma once
//! @file
//! The k strongest interactions of each row, without the matrix of all pairs.
//!
//! A matrix has (F + 1)^2 entries for each row and output: 4.9 MB for 784 features, nearly all of
//! them zero. Only features that meet on a path interact, so the sums of the sibling recurrence
//! (quadrature/cpu/engine.hpp) are kept for those pairs alone, for a block of rows at a time, and a
//! heap selects each row's k largest.
//!
//! O(T L Q d + P) a row with d features a path and P pairs that meet in an output's trees (pairs()
//! counts them; at most F (F - 1) / 2); memory O(P) for a block of rows and thread.
//! The question is the future work of Mitchell's thesis, chapter 4.

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/treeshap/quadrature/cpu/engine.hpp"

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
};

class TopInteractions {
 public:
  //! @throws std::invalid_argument as Annotate, and for k = 0
  TopInteractions(const TreeEnsemble& model, TopInteractionsOptions options);

  //! For each row and output (row-major) the k pairs of largest |value| that are not zero, the
  //! strongest first; ties by feature. In float: pairs closer than its rounding may swap.
  //! @throws std::invalid_argument for rows of another shape.
  std::vector<std::vector<InteractionPair>> find(const RowBlock& rows);

  //! Pairs that meet on a path, the mean over outputs; known after a first call of find.
  double pairs() const;

 private:
  std::size_t k_;
  std::unique_ptr<QuadratureEngine<float>> engine_;
};

//! The same from a whole matrix of one row and output, (features + 1)^2: the reference.
std::vector<InteractionPair> TopOfMatrix(std::span<const double> matrix, std::size_t features,
                                         std::size_t k);

}  // namespace retable::treeshap
