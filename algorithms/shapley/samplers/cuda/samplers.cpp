//! @file
//! Sobol and Orthogonal on a CUDA device behind the samplers' contract.

#if defined(RETABLE_HAS_CUDA)

#include <mutex>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/cuda/device_points.hpp"
#include "algorithms/shapley/samplers/sobol.hpp"

namespace retable::shapley {
namespace {

class PointSampler final : public PermutationSampler {
 public:
  PointSampler(bool sobol, const Parameters& parameters)
      : sobol_(sobol),
        relabel_(SwitchParameter(parameters, "relabel", false)),
        host_(Registry<PermutationSampler>::Instance().Make(sobol ? "Sobol" : "Orthogonal",
                                                            Device::kCpu, parameters)) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    if (n == 0 || d < 3) return host_->sample(n, d, seed);  // nothing to compute
    CheckSample(n, d);
    PermutationSample sample = EmptySample(0, d);
    const auto players = static_cast<std::size_t>(d);
    const std::lock_guard lock(mutex_);
    sample.orders = sobol_ ? device_.Sobol(n, players, seed) : device_.Orthogonal(n, players, seed);
    if (relabel_) Relabel(sample, seed);
    return sample;
  }

 private:
  bool sobol_, relabel_;
  std::unique_ptr<PermutationSampler> host_;
  mutable DevicePoints device_;  // keeps its memory
  mutable std::mutex mutex_;
};

[[maybe_unused]] const bool registered_points = [] {
  auto& registry = Registry<PermutationSampler>::Instance();
  registry.Add({.name = "Sobol",
                .device = Device::kCuda,
                .summary = "scrambled Sobol points on the sphere, the CPU's permutations",
                .citation = "Mitchell et al. 2022, algorithm 4",
                .parameters = {{"relabel", false, "players renamed at random"}},
                .make = [](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
                  return std::make_unique<PointSampler>(true, p);
                }});
  registry.Add({.name = "Orthogonal",
                .device = Device::kCuda,
                .summary = "orthogonal spherical codes, the CPU's permutations",
                .citation = "Mitchell et al. 2022, algorithm 3",
                .make = [](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
                  return std::make_unique<PointSampler>(false, p);
                }});
  return true;
}();

}  // namespace
}  // namespace retable::shapley

#endif
