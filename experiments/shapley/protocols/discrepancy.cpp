//! @file
//! Discrepancy of sampled permutations (Mitchell et al. 2022, table 4): equation 8 with the Mallows
//! kernel, and the time to draw the set. Each repeat is another seed; its drawing is timed on one
//! thread, first touch included, the discrepancy afterwards is not. On a CUDA device a first set is
//! drawn untimed, so that the time is without the start of the device but with all transfers. Rows
//! that are no permutations, or weights that do not sum to one, are a wrong result.

#include <cmath>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shapley/protocols/sample_check.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments {
namespace {

using shapley::PermutationSample;
using shapley::PermutationSampler;

class DiscrepancyProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/discrepancy"; }
  std::string summary() const override {
    return "discrepancy of sampled permutations, and the time to draw them";
  }
  Names metrics() const override { return {"discrepancy", "time"}; }
  Algorithms algorithms() const override { return ListMethods<PermutationSampler>(); }
  Specs axes() const override {
    return {{"dimension", std::int64_t{10}, "players of a permutation"},
            {"samples", std::int64_t{100}, "permutations in the set"}};
  }
  Specs settings() const override {
    return {{"lambda", 4.0, "of the Mallows kernel that measures"}};
  }
  Datasets resolve(const std::string& dataset) const override {
    return ResolveMade(dataset, {"permutations"}, "all orders of d players");
  }

  Outcome measure(const Cell& cell) override {
    const auto d = static_cast<int>(IntegerIn(cell.axes, "dimension", 1, 65535));
    const auto n = static_cast<std::size_t>(IntegerOf(cell.axes, "samples"));
    const double lambda = RealOf(cell.settings, "lambda");
    const auto sampler = MakeMethod<PermutationSampler>(cell);
    const shapley::PermutationKernel kernel(shapley::KernelKind::kMallows, lambda, d);
    harness::Metric discrepancy{"discrepancy", "1"};
    std::int64_t broken = 0;
    const bool on_device = cell.device == "cuda";
    harness::RunTimer timer({.gpu_clock = on_device, .pin = !on_device});
    if (on_device) sampler->sample(n, d, 0);
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      const auto seed = static_cast<std::uint64_t>(cell.seed * 1000003 + r);
      PermutationSample sample;
      timer.Time([&] { sample = sampler->sample(n, d, seed); });
      broken += Broken(sample, n, d);
      if (broken > 0) break;  // what is no permutation has no discrepancy
      discrepancy.samples.push_back(shapley::Discrepancy(sample, kernel));
    }
    harness::Outcome outcome;
    outcome.verification = NoneBroken(broken);
    outcome.facts["threads"] = std::int64_t{1};
    outcome.metrics = {discrepancy, {"time", "s", timer.result().seconds}};
    harness::DescribeTiming(outcome, timer.result());
    outcome.facts["timed"] =
        std::string(on_device ? "from the call to permutations in host memory: transfers included, "
                                "device memory kept from a first call"
                              : "from the call to permutations, allocations included");
    outcome.costs = CostsOf(sampler->work(n, d), 1);
    return outcome;
  }
};

RETABLE_PROTOCOL(DiscrepancyProtocol);

}  // namespace
}  // namespace retable::experiments
