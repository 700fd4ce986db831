#pragma once
//! @file
//! Integers of a cell that a protocol takes within limits.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "experiments/common/adapters.hpp"

namespace retable::experiments {

//! A cell's integer axis or setting. @throws std::invalid_argument for one outside of least ..
//! most: cut to fewer bits, it would be measured as another
inline std::int64_t IntegerIn(const harness::Values& values, const std::string& name,
                              std::int64_t least, std::int64_t most) {
  const std::int64_t value = IntegerOf(values, name);
  if (value >= least && value <= most) return value;
  throw std::invalid_argument(name + " = " + std::to_string(value) + ": " + std::to_string(least) +
                              " to " + std::to_string(most));
}

}  // namespace retable::experiments
