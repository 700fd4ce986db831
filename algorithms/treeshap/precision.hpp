#pragma once
//! @file
//! The parameter "precision" of the CPU methods.

#include <stdexcept>
#include <string>

#include "algorithms/common/parameters.hpp"

namespace retable::treeshap {

//! True for "float", false for "double". @throws std::invalid_argument for anything else.
inline bool IsFloat(const Parameters& parameters, const std::string& fallback) {
  const std::string precision = TextParameter(parameters, "precision", fallback);
  if (precision != "float" && precision != "double") {
    throw std::invalid_argument("precision is \"float\" or \"double\", not \"" + precision + "\"");
  }
  return precision == "float";
}

}  // namespace retable::treeshap
