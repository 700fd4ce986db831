#pragma once
//! @file
//! The parameters of the moment methods, for the CPU and CUDA registrations.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

// Not inline: each registering file needs its own copy, initialised before its registrations.
[[maybe_unused]] static const ParameterInfo kOrder{"l", std::int64_t{10},
                                                   "highest order of the moments, 1 to 15"};
[[maybe_unused]] static const ParameterInfo kRoute{
    "route", std::string("root"), "inversion of the density: root (of its CDF) or ode"};

inline int Order(const Parameters& p) {
  return CheckOrder(IntegerParameter(p, "l", 10));
}
inline Route RouteOf(const Parameters& p) {
  return ParseRoute(TextParameter(p, "route", "root"));
}

}  // namespace retable::quantiles
