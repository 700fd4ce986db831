//! @file
//! Time to explain one image (Mitchell et al. 2022, table 5): drawing 100 permutations, and the
//! rest, which is the network on every coalition and the averages. Drawing takes one thread, the
//! network `threads`, or a CUDA device, with the transfers of masks and values; each repeat draws
//! and evaluates anew, after a walk that is not counted.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/shapley/shapley_estimator.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shapley/games/problem.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments {
namespace {

using shapley::PermutationSampler;

class ImageTimeProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/image_time"; }
  std::string summary() const override {
    return "time to draw permutations for one image, and to evaluate them";
  }
  Names metrics() const override { return {"permutation_time", "other_time", "time"}; }
  Algorithms algorithms() const override {
    return OnBothDevices(ListMethods<PermutationSampler>());
  }
  Specs settings() const override {
    return {{"permutations", std::int64_t{100}, "of a trial"},
            {"rows_seed", std::int64_t{1}, "chooses the image"},
            {"threads", std::int64_t{0}, "of the network; 0: every core"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveImages(dataset); }
  Reason unsupported(const Cell& cell) const override { return WhyNoNetwork(cell.device); }

  Outcome measure(const Cell& cell) override {
    const bool on_device = cell.device == "cuda";
    const int asked = IntParameter(cell.settings, "threads", 0);
    const int threads = on_device ? 1 : asked > 0 ? asked : harness::AllowedProcessors();
    const Problem problem = MakeImageProblem(cell.device, cell.dataset, 0,
                                             IntegerOf(cell.settings, "rows_seed"), threads);
    const auto sampler = MakeNearest<PermutationSampler>(cell);
    const auto n = static_cast<std::size_t>(IntegerOf(cell.settings, "permutations"));
    // A walk, or all of them where device memory is to be kept from a first call.
    shapley::EstimateFromPermutations(*problem.games[0],
                                      sampler->sample(on_device ? n : 1, problem.features, 0));
    harness::RunTimer drawing({.gpu_clock = on_device}), other({.gpu_clock = on_device});
    double inefficiency = problem.disagreement;
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      const auto seed = static_cast<std::uint64_t>(cell.seed * 1000003 + r);
      shapley::PermutationSample sample;
      shapley::ShapleyEstimate estimate;
      drawing.Time([&] { sample = sampler->sample(n, problem.features, seed); });
      other.Time([&] { estimate = shapley::EstimateFromPermutations(*problem.games[0], sample); });
      inefficiency = std::max(inefficiency, Inefficiency(problem, estimate.values));
    }
    harness::Outcome outcome;
    outcome.facts = problem.facts;
    outcome.facts["threads"] = std::int64_t{threads};
    outcome.facts["evaluations"] = static_cast<std::int64_t>(n) * (problem.features + 1);
    outcome.verification =
        AtMost("values' sum against the whole image's value less the black one's", inefficiency,
               1e-4, problem.checked);
    harness::Metric time{"time", "s"};  // of both
    for (std::size_t r = 0; r < drawing.result().seconds.size(); ++r) {
      time.samples.push_back(drawing.result().seconds[r] + other.result().seconds[r]);
    }
    outcome.metrics = {{"permutation_time", "s", drawing.result().seconds},
                       {"other_time", "s", other.result().seconds},
                       time};
    outcome.facts["cores_used"] = other.result().cores_used;
    harness::AddClock(outcome, other.result());
    const double evaluations = static_cast<double>(n) * (problem.features + 1);
    if (problem.flop_count > 0) {
      outcome.costs =
          CostsOf({{"FMA fp32", evaluations * problem.flop_count}}, other.result().cores_used);
    }
    return outcome;
  }

 private:
  static double Inefficiency(const Problem& problem, const std::vector<double>& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const double worth = shapley::EndValues(*problem.games[0]).worth();
    return std::abs(sum - worth) / std::max(1.0, std::abs(worth));
  }
};

RETABLE_PROTOCOL(ImageTimeProtocol);

}  // namespace
}  // namespace retable::experiments
