#pragma once
//! @file
//! Forests as JSON: {"format": "retable-forest", "version": 1, ...}, the plain form that the tree
//! SHAP family explains and a few lines of Python turn into scikit-learn's arrays.
//!
//! Per tree, in preorder: feature, threshold, left, right (-1 in leaves, as scikit-learn's
//! children), default_left (missing values), cover (weight), samples, impurity, value (class
//! fractions of leaves, a target for regression; zeros in branches). "split": "<=" and "scale":
//! 1 / trees make the sum over trees the soft vote. Doubles are written with 17 digits: nothing is
//! lost.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! @param class_names what classes 0, 1, ... are called; may be empty.
void WriteForestJson(const Forest& forest, std::ostream& out,
                     const std::vector<std::string>& class_names = {});

//! @throws std::invalid_argument for text that is no such forest, with what is wrong.
Forest ReadForestJson(std::string_view text, std::vector<std::string>* class_names = nullptr);

}  // namespace retable::extratrees
