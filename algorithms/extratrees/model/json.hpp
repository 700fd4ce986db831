#pragma once
//! @file
//! Forests as JSON: {"format": "retable-forest", "version": 1, ...}, the plain form that the tree
//! SHAP family explains and a few lines of Python turn into scikit-learn's arrays.
//!
//! Per tree, in preorder: feature, threshold, left, right (-1 in leaves, as scikit-learn's
//! children), default_left (missing values), cover (weight), samples, impurity, value (class
//! fractions of leaves, a target for regression; zeros in branches). "split": "<=" and "scale":
//! 1 / trees make the sum over trees the soft vote. Doubles read back as they were: nothing is
//! lost. "class_names" and, an entry a feature, "feature_names", "feature_kinds" and
//! "feature_levels" say what the numbers stand for; files of older programs have classes alone.

#include <iosfwd>
#include <string_view>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! @throws std::invalid_argument where `names` do not fit the forest
void WriteForestJson(const Forest& forest, std::ostream& out, const ForestNames& names = {});

//! @throws std::invalid_argument for text that is no such forest, with what is wrong.
Forest ReadForestJson(std::string_view text, ForestNames* names = nullptr);

}  // namespace retable::extratrees
