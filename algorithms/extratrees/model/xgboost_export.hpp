#pragma once
//! @file
//! Forests in XGBoost's JSON model format, which XGBoost itself, SHAP tools, and this program's
//! tree SHAP family read.
//!
//! A forest is a sum of trees: objective reg:squarederror, base_score 0, one XGBoost tree for each
//! tree and class (num_target outputs), leaves divided by the number of trees. So outputs are class
//! fractions, or the mean target. What the format cannot hold: thresholds and leaves become floats
//! (x <= t as x < the next float above t: no float32 row changes its side; leaves are rounded to
//! 2^-24 of their size).

#include <iosfwd>
#include <string>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! Model files of XGBoost 1.7 and later. @param feature_names empty, or one a column.
//! @throws std::invalid_argument where the largest leaf or weight is beyond a float's range
void WriteXgboostJson(const Forest& forest, std::ostream& out,
                      const std::vector<std::string>& feature_names = {});

}  // namespace retable::extratrees
