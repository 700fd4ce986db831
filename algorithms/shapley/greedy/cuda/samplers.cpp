//! @file
//! Herding and quadrature on a CUDA device behind the samplers' contract.

#if defined(RETABLE_HAS_CUDA)

#include <mutex>

#include "algorithms/shapley/greedy/cuda/device_greedy.hpp"
#include "algorithms/shapley/greedy/options.hpp"

namespace retable::shapley {
namespace {

class DeviceSampler final : public PermutationSampler {
 public:
  DeviceSampler(const GreedyOptions& options, bool quadrature)
      : options_(options), quadrature_(quadrature) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    CheckSample(n, d);
    PermutationSample sample = EmptySample(0, d);
    if (n == 0) return sample;
    const PermutationKernel kernel(options_.kernel, options_.lambda, d);
    const GreedyRequest request{n, options_.candidates, seed};
    const std::lock_guard lock(mutex_);
    if (!quadrature_) {
      sample.orders = device_.Herd(kernel.Tables(), request).orders;
      return sample;
    }
    GreedyChoice choice = device_.Quadrature(kernel.Tables(), request);
    sample.orders = std::move(choice.orders);
    const auto scale = QuadratureScale::Of(kernel.Self());
    CholeskyRows rows(n);
    for (std::size_t i = 0; i < n; ++i) {
      rows.Add(choice.rows.data() + i * n, {choice.squares[i], choice.along[i]}, scale);
    }
    sample.weights = rows.Weights();
    return sample;
  }

  std::vector<Work> work(std::size_t n, int d) const override {
    return GreedyWork(options_, n, d, quadrature_);
  }

 private:
  GreedyOptions options_;
  bool quadrature_;
  mutable DeviceGreedy device_;  // keeps its memory
  mutable std::mutex mutex_;
};

Method<PermutationSampler> DeviceMethod(const char* name, const char* summary, bool quadrature) {
  Method<PermutationSampler> method;
  method.name = name;
  method.device = Device::kCuda;
  method.summary = summary;
  method.citation = "Mitchell et al. 2022, sections 3.1 and 3.2";
  method.parameters = GreedyParameters();
  method.make = [quadrature](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
    return std::make_unique<DeviceSampler>(GreedyOptions::From(p), quadrature);
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
