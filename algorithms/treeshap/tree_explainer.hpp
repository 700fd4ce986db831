#pragma once
//! @file
//! The family's whole contract: prepare a model once, then attribute the prediction of each row.
//!
//! Unless a method says otherwise it computes path-dependent SHAP values: the Shapley values of the
//! game f(S) = E[f(x) | x_S], where a split on a feature outside of S follows both children in
//! proportion to their cover (Lundberg et al. 2020; Mitchell et al. 2022, equation 2).

#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/work.hpp"
#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "base/memory/large_memory.hpp"

namespace retable::treeshap {

//! What explainers return. `Results(n)` and resize() leave new values as the memory is.
using Results = LargeArray<double>;

//! Rows in the memory of a device, row-major, a float a feature of the model, and where their
//! results go there.
struct DeviceRows {
  const float* values = nullptr;
  std::size_t rows = 0;
  double* results = nullptr;
  void* stream = nullptr;  //!< a cudaStream_t; null: the default stream
};

//! A method of attribution for tree ensembles.
class TreeExplainer {
 public:
  virtual ~TreeExplainer() = default;

  //! Takes the model (kept by copy in the method's own form). Called once before any rows.
  //! @throws std::invalid_argument where the model is over the method's limits.
  virtual void prepare(const TreeEnsemble& model) = 0;

  //! The background of interventional methods. @throws std::logic_error for the others.
  virtual void set_background(const RowBlock& /*background*/) {
    throw std::logic_error("this method takes no background rows");
  }

  //! phi, rows x groups x (features + 1); the last column is the expected value with the base
  //! score, so that a row sums to its margin. @throws std::invalid_argument for rows of another
  //! shape.
  Results values(const RowBlock& rows);

  //! The same into the caller's memory, so that block after block needs no new one.
  //! @throws std::invalid_argument where phi has another size.
  void values_to(const RowBlock& rows, std::span<double> phi);

  //! SHAP interaction values, rows x groups x (features + 1)^2 (Mitchell et al. 2022, equations 3
  //! to 6): symmetric, rows sum to phi, the expected value in the last corner. @throws
  //! std::logic_error where the method has none.
  Results interactions(const RowBlock& rows);

  //! As values_to.
  void interactions_to(const RowBlock& rows, std::span<double> matrices);

  //! values_to and interactions_to from and to the memory of the method's device, behind what the
  //! stream holds. They wait until the rows are there and return when the rest is in the stream.
  //! @throws std::invalid_argument where the method does not read it.
  virtual void values_on_device(const DeviceRows& /*rows*/) {
    throw std::invalid_argument("the explainer takes rows of host memory alone");
  }
  virtual void interactions_on_device(const DeviceRows& /*rows*/) {
    throw std::invalid_argument("the explainer has no interactions of rows in device memory");
  }

  //! The arithmetic that explaining so many rows of the model takes by this method; nothing where
  //! it is not known. That rows are read and values written is the same for all methods, and
  //! counted by whoever times them.
  virtual std::vector<Work> work(const TreeEnsemble& /*model*/, std::size_t /*rows*/,
                                 bool /*interactions*/) const {
    return {};
  }

  //! Seconds the device worked in the last call (kernels alone), by device events; NaN on a CPU.
  virtual double device_seconds() const { return std::numeric_limits<double>::quiet_NaN(); }

 protected:
  //! values_to() and interactions_to(), the shapes checked.
  virtual void write_values(const RowBlock& rows, std::span<double> phi) = 0;
  virtual void write_interactions(const RowBlock& /*rows*/, std::span<double> /*matrices*/) {
    throw std::logic_error("this method has no interaction values");
  }

  //! Columns of a group: one a feature, and the expected value.
  std::size_t side() const { return static_cast<std::size_t>(shape_.features) + 1; }

  TreeEnsemble shape_;  //!< features and groups at least; prepare() sets them
};

//! Shape helpers shared by the methods.
inline std::size_t ValuesPerRow(const TreeEnsemble& model) {
  return static_cast<std::size_t>(model.groups) * (static_cast<std::size_t>(model.features) + 1);
}
inline std::size_t InteractionsPerRow(const TreeEnsemble& model) {
  return ValuesPerRow(model) * (static_cast<std::size_t>(model.features) + 1);
}

//! @throws std::invalid_argument unless both are equal.
void RequireSize(std::size_t given, std::size_t needed);

//! The last column of each group: base score plus the expected value of the group's trees.
std::vector<double> ExpectedMargins(const TreeEnsemble& model);

//! Where results go: for each row and output a block of numbers, the last of which is the output's
//! expected value.
struct ResultBlocks {
  std::span<double> results;         //!< rows x outputs x block
  std::size_t block = 0;             //!< features + 1 of values
  std::span<const double> expected;  //!< one of each output
};

//! Zeros and the expected values: the results of a model without splits, to which others are added.
void WriteExpected(const ResultBlocks& to, int threads = 0);

//! Given off-diagonal interactions (both triangles, rows x groups x (features + 1)^2) and the
//! values, writes the diagonal phi_i - sum_j phi_ij and the last corner.
void FillInteractionDiagonal(std::size_t features, std::span<const double> phi,
                             std::span<double> interactions);

}  // namespace retable::treeshap
