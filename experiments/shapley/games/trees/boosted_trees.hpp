#pragma once
//! @file
//! Gradient boosted trees for the games of the permutation paper, so that the models need no other
//! library and are the same everywhere.
//!
//! Greedy splits by second-order gain with XGBoost's defaults: 100 rounds, depth 6, learning rate
//! 0.3, lambda 1, minimum child weight 1, at most 256 bins a feature; squared error, or logistic
//! loss for two classes; the margin is the output. Not XGBoost itself: its sketch of quantiles,
//! missing values and tie rules are not here, so single trees differ. A level costs one addition
//! for each value of the smaller children that is not its column's commonest, O(rows * features)
//! at most. Chen and Guestrin 2016, equations 6 and 7; histograms by subtraction and rows without
//! their commonest bins after Ke et al. 2017 (LightGBM).

#include <span>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::experiments {

struct BoostingOptions {
  int rounds = 100;
  int depth = 6;
  double learning_rate = 0.3;
  double lambda = 1;
  double min_child_weight = 1;
  bool logistic = false;  //!< targets are 0 or 1
};

//! What every trainer here asks of its data. @throws std::invalid_argument for no rows, values that
//! are not finite, or targets other than 0 and 1 where logistic.
void CheckTraining(const retable::treeshap::RowBlock& rows, std::span<const float> targets,
                   bool logistic);

//! @throws std::invalid_argument for missing values, or targets other than 0 and 1 where logistic.
retable::treeshap::TreeEnsemble TrainBoostedTrees(const retable::treeshap::RowBlock& rows,
                                                  std::span<const float> targets,
                                                  const BoostingOptions& options);

}  // namespace retable::experiments
