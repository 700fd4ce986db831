//! @file
//! The paper's one-pass moment methods, registered under its names.

#include "algorithms/quantiles/sketches/moment_method.hpp"

namespace retable::quantiles {
namespace {

RETABLE_REGISTER(QuantileSketch, me_central,
                 (MomentMethod("ME-central", Device::kCpu,
                               "maximum entropy on Pebay's central moments",
                               "Mitchell, Frank, Holmes 2021, sections 3 and 6", [](int order) {
                                 return MakeMaxEntropySketch(MakeCentralAccumulator(order), false);
                               })));

RETABLE_REGISTER(QuantileSketch, me_naive,
                 (MomentMethod("ME-naive", Device::kCpu, "maximum entropy on raw power sums",
                               "Mitchell, Frank, Holmes 2021, section 3; Gan et al. 2018",
                               [](int order) {
                                 return MakeMaxEntropySketch(MakeNaiveAccumulator(order), false);
                               })));

RETABLE_REGISTER(QuantileSketch, me_log_central,
                 (MomentMethod("ME-log-central", Device::kCpu,
                               "maximum entropy on central moments of log x (positive data only)",
                               "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018",
                               [](int order) {
                                 return MakeMaxEntropySketch(
                                     MakeLogAccumulator(MakeCentralAccumulator(order)), true);
                               })));

RETABLE_REGISTER(QuantileSketch, me_log_naive,
                 (MomentMethod("ME-log-naive", Device::kCpu,
                               "maximum entropy on raw power sums of log x (positive data only)",
                               "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018",
                               [](int order) {
                                 return MakeMaxEntropySketch(
                                     MakeLogAccumulator(MakeNaiveAccumulator(order)), true);
                               })));

RETABLE_REGISTER(QuantileSketch, legendre_central,
                 (MomentMethod("Legendre-central", Device::kCpu,
                               "Legendre series on Pebay's central moments",
                               "Mitchell, Frank, Holmes 2021, sections 5 and 6", [](int order) {
                                 return MakeLegendreSketch(MakeCentralAccumulator(order));
                               })));

RETABLE_REGISTER(QuantileSketch, legendre_naive,
                 (MomentMethod("Legendre-naive", Device::kCpu, "Legendre series on raw power sums",
                               "Mitchell, Frank, Holmes 2021, section 5", [](int order) {
                                 return MakeLegendreSketch(MakeNaiveAccumulator(order));
                               })));

}  // namespace
}  // namespace retable::quantiles
