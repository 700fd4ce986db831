#pragma once
//! @file
//! How the moment methods register, on the CPU and with CUDA: their one parameter is the order.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

//! @param make a sketch of an order that has been checked
inline Method<QuantileSketch> MomentMethod(const char* name, Device device, const char* summary,
                                           const char* citation,
                                           std::unique_ptr<QuantileSketch> (*make)(int order)) {
  constexpr std::int64_t kOrder = 10;
  return {.name = name,
          .device = device,
          .summary = summary,
          .citation = citation,
          .parameters = {{"l", kOrder, "highest order of the moments, 1 to 15"}},
          .make = [make](const Parameters& p) {
            return make(CheckOrder(IntegerParameter(p, "l", kOrder)));
          }};
}

}  // namespace retable::quantiles
