#pragma once
//! @file
//! The paper's twelve models (Mitchell et al. 2022, table 3) as synthetic ensembles of the same
//! shape: as many trees, the same depth, features and outputs, and about as many leaves, grown by
//! random splits on synthetic data. They stand for trained
//! models in timings, which depend on the shape alone. And the zoo: models that nobody chose.

#include <string>
#include <vector>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::experiments::treeshap {

struct ModelShape {
  std::string name;  //!< "cal_housing-large", "zoo 07 unseen"
  retable::treeshap::SyntheticShape shape;
  double missing = 0;  //!< fraction of the rows' values that are missing
};

//! The twelve, in the paper's order.
const std::vector<ModelShape>& ModelShapes();

//! 24 shapes drawn by their number alone: 4 to 1,000 features, half of them binary in every second;
//! 3 to 30 splits deep, the last four grown leaf-wise to 31 to 4,095 leaves a tree; 10 to 5,000
//! trees, but no more than 100,000 leaves; two to 100 outputs in every third, values missing in
//! every fourth. A hash of the number marks about half of them
//! "unseen": of these nobody looks at a single one while tuning, only at totals.
const std::vector<ModelShape>& ZooShapes();

//! "million": 100 trees of depth 6 on 127 features, as many as WOODELF's largest table has (Nadel
//! and Wettenstein 2025), for calls of millions of rows.
const ModelShape& MillionShape();

//! How a model of the zoo is trained.
struct TrainedShape {
  std::string name;     //!< "trained zoo 07", "trained zoo 08 unseen"
  std::string trainer;  //!< "" for XGBoost, or a package of baselines/treeshap/train.py
  std::string data;     //!< name in the catalogue, always at hand
  int classes = 0;      //!< 0: regression
  int rounds = 0;
  int depth = 0;   //!< 0: no limit
  int leaves = 0;  //!< 0: level by level
};

//! 18 models drawn by their number: embedded data and generated tables, 10 to 200 rounds, but no
//! more than 100,000 leaves; every second leaf-wise to 31 to 1,023 leaves, the others 3 to 16
//! splits deep. XGBoost trains six, LightGBM six (adult with categories), scikit-learn six: random
//! forests, and gradient boosting leaf-wise. Unseen as in ZooShapes.
const std::vector<TrainedShape>& TrainedZoo();

}  // namespace retable::experiments::treeshap
