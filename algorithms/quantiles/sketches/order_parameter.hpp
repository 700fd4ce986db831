#pragma once
//! @file
//! The parameter of the moment methods, for the CPU and CUDA registrations.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

// Not inline: each registering file needs its own copy, initialised before its registrations.
static const ParameterInfo kOrder{"l", std::int64_t{10}, "highest order of the moments, 1 to 15"};

inline int Order(const Parameters& p) {
  return CheckOrder(IntegerParameter(p, "l", 10));
}

}  // namespace retable::quantiles
