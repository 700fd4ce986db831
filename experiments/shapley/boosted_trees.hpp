#pragma once
//! @file
//! Gradient boosted trees for the games of the permutation paper, so that the models need no other
//! library and are the same everywhere.
//!
//! Exact greedy splits by second-order gain with XGBoost's defaults: 100 rounds, depth 6, learning
//! rate 0.3, lambda 1, minimum child weight 1; squared error, or logistic loss for two classes; the
//! margin is the output. Not XGBoost itself: its histograms, missing values and tie rules are not
//! here, so single trees differ. Presorted columns are partitioned down the tree: O(features *
//! rows) a level. Chen and Guestrin 2016, equations 6 and 7.

#include <span>

#include "algorithms/treeshap/tree_ensemble.hpp"

namespace retable::experiments {

struct BoostingOptions {
  int rounds = 100;
  int depth = 6;
  double learning_rate = 0.3;
  double lambda = 1;
  double min_child_weight = 1;
  bool logistic = false;  //!< targets are 0 or 1
};

//! @throws std::invalid_argument for missing values, or targets other than 0 and 1 where logistic.
retable::treeshap::TreeEnsemble TrainBoostedTrees(const retable::treeshap::RowBlock& rows,
                                                  std::span<const float> targets,
                                                  const BoostingOptions& options);

}  // namespace retable::experiments
