#pragma once
//! @file
//! Interaction values of a model on a device: compiled at first use, resident after.

#include <memory>
#include <vector>

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"
#include "algorithms/treeshap/interactions/derivative/tape.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

class DeviceInteractions {
 public:
  //! Compiles and uploads on the current device.
  DeviceInteractions(const TreeEnsemble& model, const InteractionOptions& options);
  //! The same for a model of at most derivatives::kMostFeatures features.
  DeviceInteractions(const TreeEnsemble& model, const DerivativeOptions& options);
  ~DeviceInteractions();

  //! Writes every number of `matrices` (layout of TreeExplainer; expected: one value an output)
  //! and returns the seconds of device work.
  double Run(const RowBlock& rows, std::span<const double> expected, std::span<double> matrices);

  //! The same from and to the memory of the device.
  void RunOnDevice(const DeviceRows& rows, std::span<const double> expected);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::treeshap
