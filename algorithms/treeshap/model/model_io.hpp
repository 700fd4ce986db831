#pragma once
//! @file
//! Readers of model files: XGBoost (JSON and UBJSON), LightGBM (text), the extratrees family's
//! bytes (algorithms/common/forest_bytes.hpp), and a plain JSON form for any forest, which
//! apps/shap/from_scikit_learn.py writes.
//!
//! Readers take the file's bytes, not a path. Nothing in a file is trusted: lengths, indices and
//! depths are checked before they are used. All throw std::invalid_argument with what is wrong
//! where.
//!
//! What is read explains rows as its trainer decides them: encode a table's rows by the model's
//! encodings (EncodeRows in rank_splits.hpp) before they are given to an explainer.

#include <functional>
#include <string>
#include <string_view>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

struct ReadOptions {
  bool all_trees = false;  //!< also those after the best iteration, where training stopped early
  //! Takes what a user should know; may be empty.
  std::function<void(const std::string&)> say = {};
};

//! gbtree and dart boosters; margins (base_score is taken through the objective's link). A
//! version's rounding of base_score is followed. An objective of unknown link is refused.
TreeEnsemble ReadXgboostJson(std::string_view text, const ReadOptions& options = {});
TreeEnsemble ReadXgboostUbj(std::string_view bytes, const ReadOptions& options = {});
//! Boosted trees and random forests, whose raw scores and contributions are sums; linear trees are
//! refused, and lists of categories ("pandas_categorical") whose columns cannot be told; a guess is
//! said.
TreeEnsemble ReadLightgbmText(std::string_view text, const ReadOptions& options = {});
//! {"format": "retable-forest", "version": 1, "features": F, "trees": [...]}, and where they are
//! not the default: "groups", "base_score" and "scale" (of the trees' values), "split": "<=" for
//! "<", "rows": "double" where values and thresholds are compared as doubles and not as floats,
//! "feature_names", "feature_levels" (the texts of a feature's codes; none: a number) and
//! "unknown_levels_missing". A tree's lists have an entry a node: "feature", "threshold", "left",
//! "right" (-1 at a leaf), "cover", "value" (a number for output "group", or one for each output),
//! "default_left" (1: missing values go left), "categories" (the codes that go left, perhaps none;
//! null where the node splits by number).
TreeEnsemble ReadForestJson(std::string_view text);
//! The mean of the trees' class fractions or targets: what the same forest as JSON says.
TreeEnsemble ReadBinaryForest(std::string_view bytes);

//! Tells the formats apart by their first bytes and keys.
TreeEnsemble ReadModel(std::string_view bytes, const ReadOptions& options = {});

}  // namespace retable::treeshap
