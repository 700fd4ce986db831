#pragma once
//! @file
//! The parameters of the moment methods, shared by the CPU's registrations and their CUDA twins'.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

// Not inline: each registering file has its own, made before its registrations run.
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
