#pragma once
//! @file
//! What the fuzz target does with bytes that claim to be a forest; a test does the same with
//! mutations of real ones. They are refused with std::invalid_argument, or they are a forest that
//! answers and is written and read as the same again.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/extratrees/model/json.hpp"

namespace retable::extratrees {

//! @return whether the bytes were a forest
inline bool FuzzForest(std::string_view text) {
  ForestNames names;
  std::ostringstream once, twice;
  try {
    const Forest forest = ReadForestJson(text, &names);
    WriteForestJson(forest, once, names);
    if (forest.columns > 4096) return true;  // a row of them would tell nothing more
    for (const float x : {0.0f, -1e30f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
      const std::vector<float> row(std::max<std::size_t>(forest.columns, 1), x);
      std::vector<double> answer(forest.classes);
      forest.PredictProba(row.data(), 1, answer.data());
      for (const double p : answer) {
        if (std::isnan(p)) std::abort();
      }
    }
  } catch (const std::invalid_argument&) {
    return false;
  }
  WriteForestJson(ReadForestJson(once.str(), &names), twice, names);
  if (once.str() != twice.str()) std::abort();
  return true;
}

}  // namespace retable::extratrees
