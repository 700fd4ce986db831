#pragma once
//! @file
//! XGBoost through its C library: trains the paper's models, and explains with its own
//! pred_contribs and pred_interactions, the paper's baseline (method "XGBoost" on the CPU).
//! Versions before 3.3 run Algorithm 1 in float, one row a thread.

#include <span>
#include <string>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::baselines::treeshap {

//! "1.7.4", or an empty string where this build does not link XGBoost.
std::string XgboostVersion();
inline bool XgboostIsHere() {
  return !XgboostVersion().empty();
}

struct TrainingOptions {
  int rounds = 10;
  int depth = 3;   //!< 0: no limit
  int leaves = 0;  //!< limit of leaves, with which trees grow leaf-wise; 0: level by level
  double eta = 0.01;
  int classes = 0;  //!< 0: regression; 2: binary logistic; more: softmax
};

//! Trains with tree_method hist, all else default, and returns the model as UBJSON.
//! @throws std::runtime_error with XGBoost's message, or where it is not linked.
std::string TrainXgboost(const retable::treeshap::RowBlock& rows, std::span<const float> labels,
                         const TrainingOptions& options);

}  // namespace retable::baselines::treeshap
