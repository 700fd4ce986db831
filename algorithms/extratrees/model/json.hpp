#pragma once
//! @file
//! Forests as JSON: {"format": "retable-forest", "version": 1, ...}, the plain form that the tree
//! SHAP family explains and a few lines of Python turn into scikit-learn's arrays.
//!
//! Per tree, in preorder: feature, threshold, left, right (-1 in leaves, as scikit-learn's
//! children), default_left (missing values), cover (weight), samples, impurity, value (class
//! fractions of leaves, a target for regression; zeros in branches). "split": "<=" and "scale":
//! 1 / trees make the sum over trees the soft vote. Doubles are written with 17 digits: nothing is
//! lost. "class_names" and, an entry a feature, "feature_names", "feature_kinds" and
//! "feature_levels" say what the numbers stand for; files of older programs have classes alone.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! A column that a forest was trained on.
struct TrainedFeature {
  std::string name;
  std::string kind = "numeric";     //!< "numeric", "nominal", "date" or "string"
  std::vector<std::string> levels;  //!< what 0, 1, ... stand for, where they stand for texts
  bool operator==(const TrainedFeature&) const = default;
};

//! What a forest's numbers are called in the data it was trained on.
struct ForestNames {
  std::vector<std::string> classes;      //!< what classes 0, 1, ... are called, where it is known
  std::vector<TrainedFeature> features;  //!< one a column, with different names, or none
  bool operator==(const ForestNames&) const = default;
};

//! @throws std::invalid_argument where `names` do not fit the forest
void WriteForestJson(const Forest& forest, std::ostream& out, const ForestNames& names = {});

//! @throws std::invalid_argument for text that is no such forest, with what is wrong.
Forest ReadForestJson(std::string_view text, ForestNames* names = nullptr);

}  // namespace retable::extratrees
