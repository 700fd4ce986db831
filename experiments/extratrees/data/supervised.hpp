#pragma once
//! @file
//! Data for forests: features and class labels, split into training and test rows.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::experiments::forests {

struct Supervised {
  std::string name;
  std::vector<float> values;          //!< row-major, training rows first
  std::vector<std::uint32_t> labels;  //!< 0 .. classes-1
  std::size_t columns = 0;
  std::size_t train_rows = 0;
  std::uint32_t classes = 0;

  std::size_t rows() const { return labels.size(); }
  std::size_t test_rows() const { return rows() - train_rows; }
  extratrees::FeatureMatrix Train() const { return {values.data(), train_rows, columns}; }
  std::span<const std::uint32_t> TrainLabels() const { return {labels.data(), train_rows}; }
  const float* Test() const { return values.data() + train_rows * columns; }
  std::span<const std::uint32_t> TestLabels() const {
    return {labels.data() + train_rows, test_rows()};
  }
};

//! How many rows of a data set train, as LoadSupervised() splits it.
std::size_t TrainRows(const std::string& name, std::size_t rows);

//! A classification data set of the catalogue: MNIST-like sets (70,000 rows) keep their published
//! order, 60,000 for training; iris trains on 100 rows as the report does, others on two thirds,
//! after a shuffle by `seed`. `max_train` > 0 keeps only that many training rows.
//! @throws std::invalid_argument where the target is not nominal.
Supervised LoadSupervised(const std::string& name, std::uint64_t seed, std::size_t max_train = 0);

}  // namespace retable::experiments::forests
