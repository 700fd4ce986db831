//! @file
//! Share of each kernel of the report's algorithm (table II), one kernel a cell; the cells of a
//! contender share one fit (SharedRun).
//!
//! What is timed: on a GPU each launch by events on its stream, on the CPU each loop by the steady
//! clock. A complete run on MNIST takes as many steps as its largest tree has nodes. The first
//! `max_steps` of them, where it is given, are not like the rest: no node is a leaf yet, which
//! skips the scans of features, and their nodes are the largest. Correct before timed: the steps
//! that ran must have grown trees, and a complete run must reproduce its labels.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/extratrees/data/supervised.hpp"
#include "experiments/extratrees/protocols/shared_run.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/plan.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::ForestTrainer;

class KernelsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/kernels"; }
  std::string summary() const override { return "time of each kernel of a fit"; }
  Names metrics() const override { return {"share", "time", "calls"}; }
  Algorithms algorithms() const override { return ListMethods<ForestTrainer>(); }
  Specs axes() const override {
    return {{"kernel", std::string("kernel_collect_min_max"), "part of the fit"}};
  }
  Specs settings() const override {
    return {{"trees", std::int64_t{10}, "trees in the forest"},
            {"max_train", std::int64_t{0}, "training rows at most; 0: all"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Outcome measure(const Cell& cell) override {
    const std::string kernel = TextOf(cell.axes, "kernel");
    if (kernel == "init_random") {
      return Skipped("no counterpart: random numbers are named, not stored");
    }
    harness::CellConfig shared = cell;
    shared.axes.erase("kernel");
    const nlohmann::json identity = {{"cell", harness::ToJson(shared)},
                                     {"sources", harness::FamilySourceHash("extratrees")}};
    const nlohmann::json measured = SharedRun(identity, kernel, [&] { return Measure(cell); });
    harness::Outcome outcome = harness::OutcomeFromJson(measured.at("outcome"));
    if (!outcome.verification.ok) return outcome;
    harness::Metric time{"time", "s", {}, {}, {}, outcome.metrics.front().sm_mhz};
    harness::Metric share{"share", "%"};
    harness::Metric calls{"calls", "calls"};
    for (const nlohmann::json& fit : measured.at("fits")) {
      double total = 0, seconds = 0;
      std::uint64_t times = 0;
      for (const nlohmann::json& part : fit) {
        total += part.at("seconds").get<double>();
        if (part.at("name") != kernel) continue;
        seconds = part.at("seconds");
        times = part.at("calls");
      }
      time.samples.push_back(seconds);
      share.samples.push_back(total > 0 ? 100 * seconds / total : 0);
      calls.samples.push_back(static_cast<double>(times));
    }
    outcome.metrics = {share, time, calls};
    return outcome;
  }

 private:
  //! The fits with the times of all their parts, and what all cells say of them.
  static nlohmann::json Measure(const harness::CellConfig& cell) {
    const Supervised data =
        LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed),
                       static_cast<std::size_t>(IntegerIn(cell.settings, "max_train", 0, 1 << 30)));
    extratrees::ForestOptions options;
    options.n_trees = static_cast<int>(IntegerIn(cell.settings, "trees", 1, 1 << 30));
    options.seed = static_cast<std::uint64_t>(cell.seed);
    const auto trainer = MakeMethod<ForestTrainer>(cell);
    harness::Outcome outcome;
    harness::RunTimer timer({.gpu_clock = cell.device == "cuda"});  // of whole fits
    nlohmann::json fits = nlohmann::json::array();
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      std::unique_ptr<extratrees::FittedForest> fitted;
      timer.Time([&] { fitted = trainer->fit(data.Train(), data.TrainLabels(), options); });
      outcome.verification = Verify(*fitted, data);
      if (!outcome.verification.ok) break;
      nlohmann::json parts = nlohmann::json::array();
      for (const auto& part : fitted->parts) {
        parts.push_back({{"name", part.name}, {"calls", part.calls}, {"seconds", part.seconds}});
      }
      fits.push_back(parts);
    }
    harness::AddTiming(outcome, timer.result());
    outcome.facts["training rows"] = static_cast<std::int64_t>(data.train_rows);
    return {{"outcome", harness::ToJson(outcome)}, {"fits", fits}};
  }

  static harness::Verification Verify(extratrees::FittedForest& fitted, const Supervised& data) {
    const bool stopped = std::any_of(fitted.parts.begin(), fitted.parts.end(),
                                     [](const auto& part) { return part.name == "stopped"; });
    if (stopped) {
      const auto nodes = static_cast<double>(fitted.host().NodeCount());
      const auto trees = static_cast<double>(fitted.host().trees.size());
      return AtLeast("nodes grown", nodes, 3 * trees, "one split a tree");
    }
    const auto labels = fitted.predict(data.Train().values, data.train_rows);
    const double accuracy = extratrees::Accuracy(labels, data.TrainLabels());
    return AtLeast("accuracy on the training rows", accuracy, 0.98, "the labels themselves");
  }
};

RETABLE_PROTOCOL(KernelsProtocol);

}  // namespace
}  // namespace retable::experiments::forests
