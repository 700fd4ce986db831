//! @file
//! The paper's one-pass moment methods, registered under its names.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"
#include "algorithms/quantiles/sketches/order_parameter.hpp"

namespace retable::quantiles {
namespace {

RETABLE_REGISTER(QuantileSketch, me_central,
                 {.name = "ME-central",
                  .device = Device::kCpu,
                  .summary = "maximum entropy on Pebay's central moments",
                  .citation = "Mitchell, Frank, Holmes 2021, sections 3 and 6",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(MakeCentralAccumulator(Order(p)), false);
                  }});

RETABLE_REGISTER(QuantileSketch, me_naive,
                 {.name = "ME-naive",
                  .device = Device::kCpu,
                  .summary = "maximum entropy on raw power sums",
                  .citation = "Mitchell, Frank, Holmes 2021, section 3; Gan et al. 2018",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(MakeNaiveAccumulator(Order(p)), false);
                  }});

RETABLE_REGISTER(QuantileSketch, me_log_central,
                 {.name = "ME-log-central",
                  .device = Device::kCpu,
                  .summary = "maximum entropy on central moments of log x (positive data only)",
                  .citation = "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(
                        MakeLogAccumulator(MakeCentralAccumulator(Order(p))), true);
                  }});

RETABLE_REGISTER(QuantileSketch, me_log_naive,
                 {.name = "ME-log-naive",
                  .device = Device::kCpu,
                  .summary = "maximum entropy on raw power sums of log x (positive data only)",
                  .citation = "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeMaxEntropySketch(MakeLogAccumulator(MakeNaiveAccumulator(Order(p))),
                                                true);
                  }});

RETABLE_REGISTER(QuantileSketch, legendre_central,
                 {.name = "Legendre-central",
                  .device = Device::kCpu,
                  .summary = "Legendre series on Pebay's central moments",
                  .citation = "Mitchell, Frank, Holmes 2021, sections 5 and 6",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeLegendreSketch(MakeCentralAccumulator(Order(p)));
                  }});

RETABLE_REGISTER(QuantileSketch, legendre_naive,
                 {.name = "Legendre-naive",
                  .device = Device::kCpu,
                  .summary = "Legendre series on raw power sums",
                  .citation = "Mitchell, Frank, Holmes 2021, section 5",
                  .parameters = {kOrder},
                  .make = [](const Parameters& p) {
                    return MakeLegendreSketch(MakeNaiveAccumulator(Order(p)));
                  }});

}  // namespace
}  // namespace retable::quantiles
