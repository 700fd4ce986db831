#pragma once
//! @file
//! The exact frontier method on the CPU: one tree a task, depth first, on lossless codes or values.
//!
//! Problem: be the reference of the GPU's frontier, tree for tree, and be fast on its own. Because
//! each node's random bits are named by its path, the order of growth is free: the GPU grows all
//! nodes of a level at once, this backend one tree after the other in each thread. Features found
//! constant in a node are remembered for its descendants as a bitmap (scikit-learn's saving; the
//! draws do not change). Cost: O(n K) a node of n samples, eight candidates at a time (lanes.hpp);
//! memory a tree: 16 bytes a row, 40 where codes are floats.

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {

//! The options as limits on growth.
GrowthLimits Limits(const ForestOptions& options, std::uint64_t rows);

class FrontierCpu final : public ForestTrainer {
 public:
  //! @param threads 0: as many as there are cores.
  explicit FrontierCpu(int threads = 0) : threads_(threads) {}
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  int threads_;
};

}  // namespace retable::extratrees
