#pragma once
//! @file
//! Models on which tree SHAP goes wrong: deep chains of small covers, features that repeat, missing
//! values, categorical splits, stumps, single leaves, nodes without cover. For tests of CPU methods
//! and of the functions that CUDA kernels share with them.

#include <string>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

struct AdversarialCase {
  std::string name;
  TreeEnsemble model;
  std::vector<float> rows;  //!< row-major, a few rows

  RowBlock Rows() const {
    const auto columns = static_cast<std::size_t>(model.features);
    return {rows, rows.size() / columns, columns};
  }
};

//! All of them; each has at most 13 features, so that brute force over subsets applies.
std::vector<AdversarialCase> AdversarialCases();

}  // namespace retable::treeshap
