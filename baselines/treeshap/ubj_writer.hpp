#pragma once
//! @file
//! Writes an ensemble as an XGBoost model in UBJSON, so that XGBoost can explain any ensemble.

#include <string>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::baselines::treeshap {

//! The model's bytes: gbtree, squared error (softmax for several outputs), the first base score.
//! Categories beyond all that the model names for a feature go left, as XGBoost has it.
std::string WriteXgboostUbj(const retable::treeshap::TreeEnsemble& model);

}  // namespace retable::baselines::treeshap
