#pragma once
//! @file
//! The paper's twelve models (Mitchell et al. 2022, table 3) as synthetic ensembles of the same
//! shape: as many trees, the same depth, features and outputs, and about as many leaves, grown by
//! random splits on synthetic data. They stand for trained
//! models in timings, which depend on the shape alone. And the zoo: shapes that nobody chose.

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

//! 32 shapes drawn by their number alone: 4 to 1,000 features, half of them binary in every second;
//! 3 to 30 splits deep; 10 to 5,000 trees, but no more than 400,000 leaves; two to 100 outputs in
//! every third, values missing in every fourth. A hash of the number marks about half of them
//! "unseen": of these nobody looks at a single one while tuning, only at totals.
const std::vector<ModelShape>& ZooShapes();

}  // namespace retable::experiments::treeshap
