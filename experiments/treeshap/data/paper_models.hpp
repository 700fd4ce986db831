#pragma once
//! @file
//! The paper's twelve models (Mitchell et al. 2022, tables 2 and 3) as data sets of this family.
//!
//! "Covtype-med" is trained by XGBoost on the published data set, once, and kept in the cache.
//! The models of Fashion_mnist learn from its first 10,000 rows, the large one from 2,000;
//! RETABLE_TRAINING_ROWS sets another bound for all (0: none), and a model of fewer rows than were
//! published says so.
//! Where the data set or XGBoost is not at hand its name stands for "synthetic Covtype-med": an
//! ensemble of the same shape (data/model_shapes.hpp). The synthetic ones can be asked for by name,
//! and "paper" is all twelve. "synthetic zoo" is all shapes of the zoo, "synthetic zoo 07" one;
//! "trained zoo" is those that are trained on data that are always at hand. "synthetic million" is
//! for calls of millions of rows.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments::treeshap {

//! A model and rows to explain.
struct ModelProblem {
  retable::treeshap::TreeEnsemble model;
  std::vector<float> rows;  //!< row-major; data rows in a fixed random order, repeated
  std::size_t columns = 0;
  std::int64_t data_rows = 0;      //!< rows of the data set at hand
  std::int64_t training_rows = 0;  //!< data rows used to train
  std::int64_t classes = 0;        //!< 0: regression
  std::string origin;              //!< "trained by XGBoost 1.7.4 on covertype", "synthetic"

  retable::treeshap::RowBlock Rows() const {
    return {rows, columns == 0 ? 0 : rows.size() / columns, columns};
  }
};

//! @throws harness::UnknownName
std::vector<harness::DatasetInfo> ResolveModels(const std::string& name);

//! Loads, or trains and caches. `name` as ResolveModels gives it.
ModelProblem LoadModel(const std::string& name, std::size_t rows);

}  // namespace retable::experiments::treeshap
