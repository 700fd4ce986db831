//! @file
//! Registers herding and quadrature on a CUDA device. This is a .cpp file since nvcc 13.0 cannot
//! compile the registry's variants.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shapley/greedy/cuda/device_greedy.hpp"

namespace retable::shapley {
namespace {

Method<PermutationSampler> DeviceMethod(const char* name, const char* summary, bool quadrature) {
  Method<PermutationSampler> method;
  method.name = name;
  method.device = Device::kCuda;
  method.summary = summary;
  method.citation = "Mitchell et al. 2022, sections 3.1 and 3.2";
  method.parameters = GreedyParameters();
  method.make = [quadrature](const Parameters& p) {
    return MakeDeviceGreedy(GreedyOptions::From(p), quadrature);
  };
  return method;
}

[[maybe_unused]] const bool registered = [] {
  auto& registry = Registry<PermutationSampler>::Instance();
  registry.Add(DeviceMethod("Herding", "kernel herding, the CPU's choices", false));
  registry.Add(DeviceMethod("SBQ", "sequential Bayesian quadrature, the CPU's choices", true));
  return true;
}();

}  // namespace
}  // namespace retable::shapley

#endif
