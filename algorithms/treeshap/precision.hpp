#pragma once
//! @file
//! The parameter "precision" of the CPU methods, and what is beyond it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "algorithms/common/parameters.hpp"
#include "algorithms/common/require.hpp"

namespace retable::treeshap {

//! True for "float", false for "double". @throws std::invalid_argument for anything else.
inline bool IsFloat(const Parameters& parameters, const std::string& fallback) {
  const std::string precision = TextParameter(parameters, "precision", fallback);
  Require(precision == "float" || precision == "double",
          "precision is \"float\" or \"double\", not \"", precision, "\"");
  return precision == "float";
}

//! @param doubles how they were computed
//! @param most the largest number of the form they are given in
//! @throws std::invalid_argument with the remedy, where a result is larger, infinite or NaN
inline void RequireFinite(std::span<const double> results, bool doubles,
                          double most = std::numeric_limits<double>::max()) {
  const auto within = [most](double result) { return std::abs(result) <= most; };
  Require(std::ranges::all_of(results, within),
          doubles ? "a value is beyond 64 bits: scale the model's leaves"
                  : "a value is beyond 32 bits: use precision double");
}

}  // namespace retable::treeshap
