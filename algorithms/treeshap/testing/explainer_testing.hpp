#pragma once
//! @file
//! How far an explainer's answers are off, for its tests and before it is timed.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! The largest difference over the largest |want|; infinite where anything is NaN or sizes differ.
inline double RelativeError(std::span<const double> got, std::span<const double> want) {
  if (got.size() != want.size()) return INFINITY;
  double most = 0;
  double scale = 1e-300;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    if (std::isnan(error)) return INFINITY;
    most = std::max(most, error);
    scale = std::max(scale, std::abs(want[i]));
  }
  return most / scale;
}

//! `values`: rows of the model's features.
inline RowBlock Block(const TreeEnsemble& model, const std::vector<float>& values) {
  const auto columns = static_cast<std::size_t>(model.features);
  return {values, values.size() / columns, columns};
}

//! The largest |sum - margin| of every `step`-th row's values or interactions, over the row's sum
//! of magnitudes.
inline double AdditivityError(const TreeEnsemble& model, const RowBlock& rows,
                              std::span<const double> phi, std::size_t step = 1) {
  const std::size_t block = phi.size() / (rows.rows * static_cast<std::size_t>(model.groups));
  double worst = 0;
  for (std::size_t r = 0; r < rows.rows; r += step) {
    const auto margin = Predict(model, rows.row(r));
    for (std::size_t g = 0; g < margin.size(); ++g) {
      double sum = 0;
      double scale = std::abs(margin[g]);
      for (const double v : phi.subspan((r * margin.size() + g) * block, block)) {
        sum += v;
        scale += std::abs(v);
      }
      const double error = std::abs(sum - margin[g]) / std::max(scale, 1e-300);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace retable::treeshap
