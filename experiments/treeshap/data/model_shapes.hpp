#pragma once
//! @file
//! The paper's twelve models (Mitchell et al. 2022, table 3) as synthetic ensembles of the same
//! shape: as many trees, the same depth, features and outputs, and about as many leaves, grown by
//! random splits on synthetic data. They stand for trained
//! models in timings, which depend on the shape alone.

#include <string>
#include <vector>

#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::experiments::treeshap {

struct ModelShape {
  std::string name;  //!< "cal_housing-large"
  retable::treeshap::SyntheticShape shape;
};

//! The twelve, in the paper's order.
const std::vector<ModelShape>& ModelShapes();

}  // namespace retable::experiments::treeshap
