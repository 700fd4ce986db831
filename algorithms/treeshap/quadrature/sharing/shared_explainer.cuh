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

#include "algorithms/treeshap/host/batch_pipeline.hpp"
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

  //! The order in which Run expects the rows: like ones side by side, so that neighbouring lanes
  //! read the same classes (quadrature/sharing/leaf_order.hpp). `rows`: count x features, at least
  //! kSampledRows of them where it `asks`. Null where it asks and a sample of the rows is too
  //! unlike for sharing to pay: then the rows must stay until what follows WaitForOrder in the
  //! stream. Asking waits for the stream.
  const std::uint32_t* OrderRows(const float* rows, std::uint32_t count, bool missing, bool asks,
                                 cudaStream_t stream);
  void WaitForOrder(cudaStream_t stream) const;

  //! Writes the results, in the rows' own order; says whether they are rounded. `x`: features x
  //! stride, rows at most MostGroupedRows(), stride a multiple of 256.
  bool Run(const float* x, std::uint32_t stride, KernelVariant variant, const DeviceBatch& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::treeshap
