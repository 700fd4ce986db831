//! @file
//! The paper's one-pass moment methods, registered under its names.

#include "algorithms/quantiles/sketches/moment_method.hpp"

namespace retable::quantiles {
namespace {

std::unique_ptr<MomentAccumulator> CentralOfLogs(int order) {
  return MakeLogAccumulator(MakeCentralAccumulator(order));
}
std::unique_ptr<MomentAccumulator> NaiveOfLogs(int order) {
  return MakeLogAccumulator(MakeNaiveAccumulator(order));
}

[[maybe_unused]] const bool registered_moments = RegisterMomentMethods(
    Device::kCpu,
    {{"ME-central", MomentFit::kMaxEntropy, MakeCentralAccumulator,
      "maximum entropy on Pebay's central moments",
      "Mitchell, Frank, Holmes 2021, sections 3 and 6"},
     {"ME-naive", MomentFit::kMaxEntropy, MakeNaiveAccumulator, "maximum entropy on raw power sums",
      "Mitchell, Frank, Holmes 2021, section 3; Gan et al. 2018"},
     {"ME-log-central", MomentFit::kMaxEntropyOfLogs, CentralOfLogs,
      "maximum entropy on central moments of log x (positive data only)",
      "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018"},
     {"ME-log-naive", MomentFit::kMaxEntropyOfLogs, NaiveOfLogs,
      "maximum entropy on raw power sums of log x (positive data only)",
      "Mitchell, Frank, Holmes 2021, section 8.1.1; Gan et al. 2018"},
     {"Legendre-central", MomentFit::kLegendre, MakeCentralAccumulator,
      "Legendre series on Pebay's central moments",
      "Mitchell, Frank, Holmes 2021, sections 5 and 6"},
     {"Legendre-naive", MomentFit::kLegendre, MakeNaiveAccumulator,
      "Legendre series on raw power sums", "Mitchell, Frank, Holmes 2021, section 5"}});

}  // namespace
}  // namespace retable::quantiles
