#pragma once
//! @file
//! Interaction values of a model on a device: compiled at first use, resident after.

#include <memory>
#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

class PairsOnDevice {
 public:
  //! Compiles and uploads on the current device.
  explicit PairsOnDevice(const TreeEnsemble& model);
  ~PairsOnDevice();

  //! Adds the off-diagonal entries to `matrices` (layout of TreeExplainer::interactions) and
  //! returns the seconds of device work.
  double Run(const RowBlock& rows, std::span<double> matrices);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::treeshap
