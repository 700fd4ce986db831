#pragma once
//! @file
//! For readers of models: gives features whose splits are no comparisons of floats their encodings
//! (feature_encoding.hpp), and for users of models: rows of a table as rows of the model.

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

//! How a trainer compares a row's values with limits of doubles.
enum class RowRule {
  kSingle,    //!< rounded to float (XGBoost)
  kDouble,    //!< as they are (HistGradientBoosting)
  kLightgbm,  //!< values in [-1e-35f, 1e-35f] count as 0; categories are truncated towards zero
};

//! A split by number whose limit is a double: value <= limit goes left.
struct DoubleSplit {
  std::size_t tree = 0, node = 0;
  double limit = 0;
  bool zero_missing = false;  //!< 0 takes the direction of missing values
};

//! Gives the features of `splits` ranks: sets their encodings, and the splits of all trees on them.
//! With kLightgbm features split by category alone are ranked too, since codes of 2^24 and more are
//! no floats. Other splits of the model are already set. O(splits log splits), and for sets of
//! ranks splits x cuts / 32 words.
//! @throws std::invalid_argument over 2^24 limits on a feature, or over 2^24 words of sets
void RankSplits(TreeEnsemble& model, const std::vector<DoubleSplit>& splits, RowRule rule);

//! For models of floats: ranks the features that are split by number and by category, as
//! explainers take one kind a feature, and notes the largest category of the others.
void RankMixedFeatures(TreeEnsemble& model);

//! Rows of the table (row-major, one value per feature, category codes where the feature has
//! categories) as rows of the model.
std::vector<float> EncodeRows(const TreeEnsemble& model, std::span<const double> values);

//! Margins of one row of the table, one per group.
std::vector<double> Predict(const TreeEnsemble& model, std::span<const double> row);

}  // namespace retable::treeshap
