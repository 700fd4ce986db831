#pragma once
//! @file
//! How the moment methods register, on the CPU and with CUDA: their one parameter is the order.

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {

enum class MomentFit { kMaxEntropy, kMaxEntropyOfLogs, kLegendre };

struct MomentMethod {
  const char* name;
  MomentFit fit;
  std::unique_ptr<MomentAccumulator> (*sums)(int order);
  const char* summary = "";  // of CUDA: those of the CPU
  const char* citation = "";
};

inline bool RegisterMomentMethods(Device device, std::initializer_list<MomentMethod> methods) {
  constexpr std::int64_t kOrder = 10;
  for (const MomentMethod& method : methods) {
    Registry<QuantileSketch>::Instance().Add(
        {.name = method.name,
         .device = device,
         .summary = method.summary,
         .citation = method.citation,
         .parameters = {{"l", kOrder, "highest order of the moments, 1 to 15"}},
         .make = [fit = method.fit, sums = method.sums](const Parameters& p) {
           auto moments = sums(CheckOrder(IntegerParameter(p, "l", kOrder)));
           if (fit == MomentFit::kLegendre) return MakeLegendreSketch(std::move(moments));
           return MakeMaxEntropySketch(std::move(moments), fit == MomentFit::kMaxEntropyOfLogs);
         }});
  }
  return true;
}

}  // namespace retable::quantiles
