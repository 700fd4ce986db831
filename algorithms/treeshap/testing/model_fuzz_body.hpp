#pragma once
//! @file
//! The body of the model readers' fuzz target; a test runs it on the corpus and on mutations, so
//! that every build covers it. For any bytes a reader gives a valid model whose predictions and
//! expected values are finite, or throws std::invalid_argument.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

//! @return whether the bytes were a model
inline bool FuzzModel(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TreeEnsemble model;
  try {
    model = ReadModel(bytes);
    Validate(model);
  } catch (const std::invalid_argument&) {
    return false;
  }
  if (model.features > 4096) return true;  // long rows cover no more code
  for (const double x : {0.0, -1e30, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> row(static_cast<std::size_t>(model.features), x);
    for (const double margin : Predict(model, std::span<const double>(row))) {
      if (std::isnan(margin)) std::abort();
    }
  }
  try {
    for (const double expected : Annotate(model).expected) {
      if (std::isnan(expected)) std::abort();
    }
  } catch (const std::invalid_argument&) {  // deeper than the method supports
  }
  return true;
}

}  // namespace retable::treeshap
