//! @file
//! Share of each kernel of the report's algorithm (table II), one kernel a cell.
//!
//! What is timed: on a GPU each launch by events on its stream, on the CPU each loop by the steady
//! clock. A complete run on MNIST takes as many steps as its largest tree has nodes, each costing
//! the same whatever the node's size; `max_steps` of them give the same shares. Correct before
//! timed: the steps that ran must have grown trees, and a complete run must reproduce its labels.

#include <algorithm>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/extratrees/data/supervised.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::ForestTrainer;

class KernelsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/kernels"; }
  std::string family() const override { return "extratrees"; }
  std::string summary() const override { return "time of each kernel of a fit"; }
  std::vector<harness::AlgorithmInfo> algorithms() const override {
    return ListMethods<ForestTrainer>();
  }
  std::vector<harness::ParameterSpec> axes() const override {
    return {{"kernel", std::string("kernel_collect_min_max"), "part of the fit"}};
  }
  std::vector<harness::ParameterSpec> settings() const override {
    return {{"trees", std::int64_t{10}, "trees in the forest"},
            {"max_train", std::int64_t{0}, "training rows at most; 0: all"}};
  }
  std::vector<harness::DatasetInfo> resolve(const std::string& dataset) const override {
    return ResolveData(dataset);
  }

  harness::Outcome measure(const harness::CellConfig& cell) override {
    const Supervised data =
        LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed),
                       static_cast<std::size_t>(IntegerOr(cell.settings, "max_train", 0)));
    extratrees::ForestOptions options;
    options.n_trees = static_cast<int>(IntegerOr(cell.settings, "trees", 10));
    options.seed = static_cast<std::uint64_t>(cell.seed);
    const std::string kernel = TextOf(cell.axes, "kernel");
    const auto trainer = MakeMethod<ForestTrainer>(cell);
    harness::Outcome outcome;
    harness::Metric time{"time", "s", {}, {}, {}};
    harness::Metric share{"share", "%", {}, {}, {}};
    harness::Metric calls{"calls", "calls", {}, {}, {}};
    harness::RunTimer timer({.gpu_clock = cell.device == "cuda"});  // of whole fits
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      std::unique_ptr<extratrees::FittedForest> fitted;
      timer.Time([&] { fitted = trainer->fit(data.Train(), data.TrainLabels(), options); });
      outcome.verification = Verify(*fitted, data);
      if (!outcome.verification.ok) return outcome;
      double total = 0;
      extratrees::PartTime mine;
      for (const auto& part : fitted->parts) {
        total += part.seconds;
        if (part.name == kernel) mine = part;
      }
      time.samples.push_back(mine.seconds);
      share.samples.push_back(total > 0 ? 100 * mine.seconds / total : 0);
      calls.samples.push_back(static_cast<double>(mine.calls));
    }
    outcome.metrics = {share, time, calls};
    harness::DescribeTiming(outcome, timer.result());
    outcome.facts["training rows"] = static_cast<std::int64_t>(data.train_rows);
    return outcome;
  }

 private:
  static harness::Verification Verify(extratrees::FittedForest& fitted, const Supervised& data) {
    const bool stopped = std::any_of(fitted.parts.begin(), fitted.parts.end(),
                                     [](const auto& part) { return part.name == "stopped"; });
    if (stopped) {
      const auto nodes = static_cast<double>(fitted.host().NodeCount());
      const auto trees = static_cast<double>(fitted.host().trees.size());
      return {true, nodes >= 3 * trees, "nodes grown", nodes, 3 * trees, "one split a tree"};
    }
    const auto labels = fitted.predict(data.Train().values, data.train_rows);
    const double accuracy = extratrees::Accuracy(labels, data.TrainLabels());
    return {true, accuracy >= 0.98,       "accuracy on the training rows", accuracy,
            0.98, "the labels themselves"};
  }
};

RETABLE_PROTOCOL(KernelsProtocol);

}  // namespace
}  // namespace retable::experiments::forests
