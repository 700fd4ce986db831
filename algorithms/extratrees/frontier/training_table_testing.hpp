#pragma once
//! @file
//! Made-up tables to grow trees on: classes, real targets, weights with zeros, missing values.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

struct TrainingTable {
  std::vector<float> x;
  std::vector<std::uint32_t> labels;
  std::vector<double> values, weights;
  std::size_t columns = 0;
  FeatureMatrix matrix() const { return {x.data(), labels.size(), columns}; }
  bool HasHoles() const {
    return std::any_of(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  }
  Targets Given(bool regression, bool weighted) const {
    Targets targets = regression ? Targets::Regression(values) : Targets(labels);
    if (weighted) targets.weights = weights;
    return targets;
  }
};

//! `distinct` values a column, some of them missing; every fifth column constant or missing.
inline TrainingTable MakeTrainingTable(std::size_t rows, std::size_t columns, std::uint32_t classes,
                                       std::uint32_t distinct, bool holes, std::uint64_t seed) {
  TrainingTable data;
  data.columns = columns;
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t f = 0; f < columns; ++f) {
      const PhiloxBlock bits = philox.Block(i, f);
      const std::uint64_t k = UniformBelow(bits.half(0), f % 5 == 4 ? 1 : distinct);
      const bool missing = holes && UniformBelow(bits.half(1), f % 3 + 4) == 0;
      data.x.push_back(missing ? std::nanf("") : 0.37f * static_cast<float>(k) - 3.0f);
    }
    const PhiloxBlock bits = philox.Block(i, columns);
    const float first = std::isnan(data.x[i * columns]) ? 9.0f : data.x[i * columns];
    data.labels.push_back(
        static_cast<std::uint32_t>(UniformBelow(bits.half(0), 3) + (first > 0 ? 1 : 0)) % classes);
    data.values.push_back(100.0 + first * first + UniformDouble(bits.half(1)));
    data.weights.push_back(0.25 * static_cast<double>(UniformBelow(bits.half(0) << 7, 9)));
  }
  return data;
}

}  // namespace retable::extratrees
