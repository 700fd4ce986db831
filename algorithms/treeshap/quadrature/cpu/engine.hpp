#pragma once
//! @file
//! The sibling recurrence on the CPU with rows as vector lanes: sums for each feature, and for each
//! pair of features that meet on a path, block after block of rows. What becomes of the sums is the
//! caller's (values, matrices, the strongest pairs).
//!
//! Trees of one output are cut into segments, rows into blocks. A block folds each tree into
//! double, and sums the trees of a segment, then the segments, always in this order: whether a task
//! takes rows through all segments or one segment for all rows, the bits are the same: results are
//! bitwise independent of the threads and of the other rows. Tasks split many rows by rows, few
//! rows by segments.
//!
//! A call of a few rows takes them one by one with trees as lanes, which are laid over each other
//! in bundles (TreeBundle): the same operations in the same order, so the same bits.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

//! How the engine computes.
struct EngineOptions {
  int threads = 0;  //!< 0: all
  bool banzhaf = false;
  std::string isa = "auto";  //!< auto, baseline, avx2 or avx512
};

//! What an output's trees add up: a column for each feature they split, then one for each pair of
//! features that are on one path (lower first).
struct OutputColumns {
  std::vector<std::int32_t> features;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;

  std::size_t width(bool with_pairs) const {
    return features.size() + (with_pairs ? pairs.size() : 0);
  }
};

//! The engine in float or double.
template <class T>
class QuadratureEngine {
 public:
  using Sums = Lanes<T, double>;
  //! Takes the sums of `rows` rows (at most kLanes<T>) from `first` on, one entry for each column;
  //! a pair's is its interaction index, twice the entry of the matrix. Called from many threads,
  //! once for each block and output.
  using Sink = std::function<void(std::size_t output, std::size_t first, std::size_t rows,
                                  const Sums* sums)>;

  //! @throws std::invalid_argument for an instruction set that is unknown or not here.
  static std::unique_ptr<QuadratureEngine> Make(const EngineOptions& options);
  virtual ~QuadratureEngine() = default;

  //! @throws std::invalid_argument as Annotate.
  virtual void Prepare(const TreeEnsemble& model) = 0;
  //! Calls sink for all rows. With pairs asked for, the first call lists them.
  //! @throws std::invalid_argument for rows of another shape.
  virtual void Run(const RowBlock& rows, bool pairs, const Sink& sink) = 0;

  TreeEnsemble shape;                  //!< features and groups of the model alone
  std::vector<double> expected;        //!< one value an output, base score included
  std::vector<OutputColumns> outputs;  //!< pairs are known once they were asked for
};

}  // namespace retable::treeshap
