//! @file
//! Time and accuracy of training a forest (figures 1 and 2, and what goes beyond them).
//!
//! What is timed: fit, from row-major float32 features and labels in host memory to a forest that
//! can predict (on a GPU: copies of the data in, the forest left on the device, or with to_host
//! copied to host memory). Before it is timed
//! the method must reproduce the labels of its own training rows, as any full-depth forest does
//! (except where equal rows bear two labels), and the exact GPU frontier must grow the CPU
//! backend's trees, node by node. Of another program only its run is timed.

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "algorithms/common/require.hpp"
#include "algorithms/extratrees/forest_trainer.hpp"
#include "base/cuda/devices.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/resident_program.hpp"
#include "experiments/extratrees/data/supervised.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::FittedForest;
using extratrees::Forest;
using extratrees::ForestOptions;
using extratrees::ForestTrainer;

constexpr double kLongFit = 10;  // seconds
constexpr std::int64_t kMost = std::numeric_limits<int>::max();

class FitProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/fit"; }
  std::string summary() const override { return "time and accuracy of training a forest"; }
  Names metrics() const override { return {"accuracy", "nodes", "depth", "time"}; }
  Algorithms algorithms() const override { return ListMethods<ForestTrainer>(); }
  Specs axes() const override {
    return {{"trees", std::int64_t{10}, "trees in the forest"},
            {"rule", std::string("scikit-learn"),
             "which features a node tries: scikit-learn, geurts or report", true}};
  }
  Specs settings() const override {
    return {{"min_time", 0.2, "seconds of timing a cell at least, where fits are short"},
            {"max_time", 60.0, "seconds of fitting after which no repeat begins"},
            {"max_train", std::int64_t{0}, "training rows at most; 0: all"},
            {"to_host", false, "a fit ends with the forest in host memory"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }
  Reason unsupported(const Cell& cell) const override {
    if (cell.algorithm == "report" && IntegerOr(cell.axes, "trees", 10) > 1024) {
      return "the published method grows at most 1024 trees";
    }
    const auto devices = IntegerOr(cell.parameters, "devices", 1);
    if (cell.device == "cuda" && devices > CudaDeviceCount()) {
      return "there are " + std::to_string(CudaDeviceCount()) + " GPUs";
    }
    return WhyNotExternal(cell);
  }

  Outcome measure(const Cell& cell) override {
    const Supervised data =
        LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed),
                       static_cast<std::size_t>(IntegerIn(cell.settings, "max_train", 0, kMost)));
    const auto trainer = MakeMethod<ForestTrainer>(cell);
    ForestOptions options{.n_trees = 10};
    if (cell.axes.contains("trees")) {
      options.n_trees = static_cast<int>(IntegerIn(cell.axes, "trees", 1, kMost));
    }
    if (const auto rule = cell.axes.find("rule"); rule != cell.axes.end()) {
      options.constant_rule = extratrees::ParseConstantRule(std::get<std::string>(rule->second));
    }
    options.seed = static_cast<std::uint64_t>(cell.seed);

    harness::Outcome outcome;
    outcome.facts["training rows"] = static_cast<std::int64_t>(data.train_rows);
    outcome.facts["test rows"] = static_cast<std::int64_t>(data.test_rows());
    outcome.facts["columns"] = static_cast<std::int64_t>(data.columns);
    outcome.facts["classes"] = static_cast<std::int64_t>(data.classes);
    harness::RunTimer timer({.gpu_clock = cell.device == "cuda"});
    const auto fit = [&] { return TrainOnce(cell, *trainer, data, options); };
    Run warm = Fit(fit, data, options, timer);
    if (const auto steps = StoppedAfter(*warm.fitted)) {
      MeasureScaled(cell, *warm.fitted, *steps, data, options, timer.result(), outcome);
      return outcome;
    }
    outcome.verification = Verify(cell, *warm.fitted, data, options);
    if (!outcome.verification.ok) return outcome;
    const std::uint64_t first = options.seed;
    std::vector<Run> runs;
    // A long fit hardly notices the start.
    const double max_time = RealOf(cell.settings, "max_time");
    double spent = warm.seconds;
    if (warm.seconds > kLongFit) {
      runs.push_back(std::move(warm));
    } else {
      timer.Forget();
    }
    for (auto r = static_cast<std::int64_t>(runs.size()); r < cell.repeats; ++r) {
      if (!runs.empty() && spent > max_time) break;
      options.seed = first + static_cast<std::uint64_t>(r);
      if (!runs.empty()) runs.back().fitted.reset();
      runs.push_back(Fit(fit, data, options, timer));
      spent += runs.back().seconds;
    }
    ReportQuality(runs, outcome);
    options.seed = first;
    MeasureTime(cell, fit, data, options, runs, timer.result(), outcome);
    return outcome;
  }

 private:
  //! One timed fit and the accuracy of its forest.
  struct Run {
    std::unique_ptr<FittedForest> fitted;
    double seconds = 0;
    double accuracy = 0, nodes = 0, depth = 0;
  };

  //! What is timed.
  static std::unique_ptr<FittedForest> TrainOnce(const harness::CellConfig& cell,
                                                 ForestTrainer& trainer, const Supervised& data,
                                                 const ForestOptions& options) {
    auto fitted = trainer.fit(data.Train(), data.TrainLabels(), options);
    if (FlagOf(cell.settings, "to_host")) fitted->host();
    return fitted;
  }

  template <class FitOnce>
  static Run Fit(const FitOnce& fit, const Supervised& data, const ForestOptions& options,
                 harness::RunTimer& timer) {
    Run run;
    run.seconds = timer.Time([&] { run.fitted = fit(); });
    if (run.fitted == nullptr) throw std::runtime_error("fit() returned no forest");
    run.seconds = run.fitted->own_seconds.value_or(run.seconds);
    CheckForest(run.fitted->host(), data, options);
    const auto labels = run.fitted->predict(data.Test(), data.test_rows());
    run.accuracy = extratrees::Accuracy(labels, data.TestLabels());
    run.nodes = static_cast<double>(run.fitted->host().NodeCount()) / options.n_trees;
    run.depth = run.fitted->host().MeanDepth();
    return run;
  }

  //! @throws std::invalid_argument for another forest than was asked for: fewer trees take less
  //! time, and rows are read by the forest's columns.
  static void CheckForest(const Forest& forest, const Supervised& data,
                          const ForestOptions& options) {
    const auto trees = static_cast<std::size_t>(options.n_trees);
    Require(forest.trees.size() == trees && forest.columns == data.columns, "the forest has ",
            forest.trees.size(), " trees of ", forest.columns, " columns, not ", trees, " of ",
            data.columns);
    CheckTrees(forest);
  }

  static void ReportQuality(const std::vector<Run>& runs, harness::Outcome& outcome) {
    harness::Metric accuracy{"accuracy", "1"};
    harness::Metric nodes{"nodes", "nodes/tree"};
    harness::Metric depth{"depth", "1"};
    for (const Run& run : runs) {
      accuracy.samples.push_back(run.accuracy);
      nodes.samples.push_back(run.nodes);
      depth.samples.push_back(run.depth);
    }
    outcome.metrics = {accuracy, nodes, depth};
  }

  //! Steps after which the report's algorithm was told to stop, if it was.
  static std::optional<std::uint64_t> StoppedAfter(const FittedForest& fitted) {
    for (const auto& part : fitted.parts) {
      if (part.name == "stopped") return part.calls;
    }
    return {};
  }

  //! A stopped run stands for a complete one: every step reads all samples, and a run takes as many
  //! as its largest tree has nodes. That number is taken from trees of the same law, grown by the
  //! frontier under the report's rule. The first steps are the dearest (no node is a leaf yet, and
  //! nodes are large), so the scaled time is an upper bound, not an estimate.
  static void MeasureScaled(const harness::CellConfig& cell, FittedForest& fitted,
                            std::uint64_t steps, const Supervised& data, const ForestOptions& asked,
                            harness::TimingResult timing, harness::Outcome& outcome) {
    const auto grown = static_cast<double>(fitted.host().NodeCount());
    outcome.verification = AtLeast("nodes grown", grown, 3.0 * asked.n_trees, "one split a tree");
    if (!outcome.verification.ok) return;
    double seconds = 0;
    for (const auto& part : fitted.parts) seconds += part.seconds;
    ForestOptions options = asked;
    options.n_trees = std::min(options.n_trees, 8);
    options.constant_rule = extratrees::ConstantRule::kPublished;
    const auto whole = Registry<ForestTrainer>::Instance()
                           .Make("frontier", Device::kCpu, {})
                           ->fit(data.Train(), data.TrainLabels(), options);
    std::size_t largest = 0;
    for (const auto& tree : whole->host().trees) largest = std::max(largest, tree.nodes.size());
    const double scale = static_cast<double>(largest) / static_cast<double>(steps);
    outcome.metrics = {{"time", "s", {seconds * scale}}};
    timing.included = cell.device == "cuda" ? "each launch by events" : "each loop";
    harness::DescribeTiming(outcome, timing);
    outcome.costs = Costs(cell, data, *whole, asked, timing.cores_used);
    outcome.facts["steps run"] = static_cast<std::int64_t>(steps);
    outcome.facts["steps of a complete run"] = static_cast<std::int64_t>(largest);
    outcome.facts["scaled"] = std::string("time of the steps run, scaled to a complete run");
  }

  static harness::Verification Verify(const harness::CellConfig& cell, FittedForest& fitted,
                                      const Supervised& data, const ForestOptions& options) {
    if (cell.algorithm == "frontier" && cell.device == "cuda") {
      return CompareWithCpu(fitted, data, options);
    }
    const auto labels = fitted.predict(data.Train().values, data.train_rows);
    const double accuracy = extratrees::Accuracy(labels, data.TrainLabels());
    return AtLeast("accuracy on the training rows", accuracy, 0.98, "the labels themselves");
  }

  //! The first trees against the CPU's: all of them in a small forest.
  static harness::Verification CompareWithCpu(FittedForest& fitted, const Supervised& data,
                                              const ForestOptions& options) {
    ForestOptions few = options;
    few.n_trees = std::min(options.n_trees, 8);
    const auto cpu = Registry<ForestTrainer>::Instance().Make("frontier", Device::kCpu, {});
    const auto expected = cpu->fit(data.Train(), data.TrainLabels(), few);
    double different = 0;
    for (std::size_t t = 0; t < expected->host().trees.size(); ++t) {
      different += expected->host().trees[t] == fitted.host().trees[t] ? 0 : 1;
    }
    return AtMost("trees that differ from the CPU backend's", different, 0,
                  "the CPU backend, node by node");
  }

  //! What a fit's time holds.
  static std::string Included(const harness::CellConfig& cell) {
    if (cell.device != "cuda") return "from float32 rows in host memory to a forest that predicts";
    const bool to_host = FlagOf(cell.settings, "to_host");
    return std::string("from float32 rows in host memory to a forest ") +
           (to_host ? "in host memory" : "on the device") +
           ": encoding, transfers and allocations included";
  }

  //! The fit's own work; a GPU needs the data as well, in a byte a value at least.
  static std::vector<harness::Cost> Costs(const harness::CellConfig& cell, const Supervised& data,
                                          FittedForest& fitted, const ForestOptions& options,
                                          double cores) {
    auto work = extratrees::FitWork(data.Train(), fitted.host(), options);
    const auto devices =
        static_cast<double>(std::max<std::int64_t>(1, IntegerOr(cell.parameters, "devices", 1)));
    if (cell.device == "cuda") {
      for (Work& w : work) w.amount /= devices;  // trees are shared out
      work.push_back({"host to device", static_cast<double>(data.train_rows * data.columns)});
    }
    return CostsOf(work, cores);
  }

  //! Fits that take longer than min_time are samples as they are; short ones are timed again, more
  //! often.
  template <class FitOnce>
  static void MeasureTime(const harness::CellConfig& cell, const FitOnce& fit,
                          const Supervised& data, const ForestOptions& options,
                          const std::vector<Run>& runs, harness::TimingResult timing,
                          harness::Outcome& outcome) {
    const double min_time = RealOf(cell.settings, "min_time");
    std::vector<double> seconds;
    for (const Run& run : runs) seconds.push_back(run.seconds);
    const FittedForest* last = runs.back().fitted.get();
    std::unique_ptr<FittedForest> again;
    const bool ours = !last->own_seconds.has_value();
    if (ours && *std::min_element(seconds.begin(), seconds.end()) < min_time) {
      harness::RepeatOptions repeat;
      repeat.min_samples = static_cast<int>(cell.repeats);
      // Room for `repeats` samples also where a run is slower than it was, or held up.
      const double slowest = *std::max_element(seconds.begin(), seconds.end());
      repeat.budget = std::max(0.5, min_time + 4 * static_cast<double>(cell.repeats) * slowest);
      repeat.gpu_clock = cell.device == "cuda";
      timing = harness::TimeRepeated([&] { again = fit(); }, repeat);
      seconds = timing.seconds;
      last = again.get();
    }
    timing.included = Included(cell);
    // The cores that another process used are not seen from here; it takes all of them.
    const double cores = ours ? timing.cores_used : harness::AllowedProcessors();
    if (!ours) timing.cores_used = 0;
    outcome.metrics.push_back({"time", "s", seconds});
    harness::DescribeTiming(outcome, timing);
    outcome.costs = Costs(cell, data, *runs.back().fitted, options, cores);
    for (const auto& part : last->parts) outcome.facts["last " + part.name] = part.seconds;
    for (const auto& [what, bytes] : last->memory) {
      outcome.facts["bytes " + what] = static_cast<std::int64_t>(bytes);
    }
  }
};

RETABLE_PROTOCOL(FitProtocol);

}  // namespace
}  // namespace retable::experiments::forests
