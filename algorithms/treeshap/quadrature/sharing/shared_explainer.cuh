#pragma once
//! @file
//! SHAP values on a device with subtrees shared by rows (quadrature/sharing/subtrees.hpp): compiled
//! and resident.
//!
//! Trees are taken in batches, bounded by the memory that the worst case needs: every row a class
//! of its own in every subtree. A batch is three kernels: rows are grouped, subtrees run with
//! classes as lanes, and the rest of the trees runs with rows as lanes. Batches and the split of a
//! batch into ranges depend on the model alone, so a row's result has the same bits in any block of
//! rows.

#include <memory>

#include "algorithms/treeshap/host/device_pipeline.hpp"
#include "algorithms/treeshap/quadrature/cuda/launch.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

class SharedQuadrature {
 public:
  //! Compiles and uploads on the current device; subtrees have at most `subtree_leaves` leaves.
  SharedQuadrature(const AnnotatedModel& model, std::int32_t subtree_leaves);
  ~SharedQuadrature();

  //! Whether the model can be shared at all: no categories, ranks of 16 bits, and some subtree.
  bool usable() const;

  //! Enqueues the grouping of kSampledRows of the rows, spread evenly.
  void Ask(const DeviceBatch& rows);
  //! Whether those are so alike that sharing pays; waits for their grouping.
  bool AreAlike() const;

  //! The order in which Run expects the rows: like ones side by side, so that neighbouring lanes
  //! read the same classes (quadrature/sharing/leaf_order.hpp).
  const std::uint32_t* OrderRows(const DeviceBatch& piece);

  //! Writes the results, in the rows' own order; says whether they are rounded. `x`: features x
  //! stride, rows at most MostGroupedRows(), stride a multiple of 256.
  bool Run(const float* x, std::uint32_t stride, KernelVariant variant, const DeviceBatch& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::treeshap
