//! @file
//! Time and accuracy of training a forest (figures 1 and 2, and what goes beyond them).
//!
//! What is timed: fit, from row-major float32 features and labels in host memory to a forest that
//! can predict (on a GPU: copies of the data in, the forest left on the device). Before it is timed
//! the method must reproduce the labels of its own training rows, as any full-depth forest does
//! (except where equal rows bear two labels), and the exact GPU frontier must grow the CPU twin's
//! trees, node by node.

#include <algorithm>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "experiments/common/glue.hpp"
#include "experiments/extratrees/forest_data.hpp"
#include "harness/protocol.hpp"
#include "harness/timing.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::FittedForest;
using extratrees::Forest;
using extratrees::ForestOptions;
using extratrees::ForestTrainer;

class FitProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "extratrees/fit"; }
  std::string family() const override { return "extratrees"; }
  std::string summary() const override { return "time and accuracy of training a forest"; }
  std::vector<harness::AlgorithmInfo> algorithms() const override {
    return ListMethods<ForestTrainer>();
  }
  std::vector<harness::ParameterSpec> axes() const override {
    return {{"trees", std::int64_t{10}, "trees in the forest"},
            {"rule", std::string("scikit-learn"),
             "which features a node tries: scikit-learn, geurts or report"}};
  }
  std::vector<harness::ParameterSpec> settings() const override {
    return {{"min_time", 0.2, "seconds of timing a cell at least, where fits are short"},
            {"max_train", std::int64_t{0}, "training rows at most; 0: all"}};
  }
  std::vector<harness::DatasetInfo> resolve(const std::string& dataset) const override {
    return ResolveData(dataset);
  }
  std::optional<std::string> unsupported(const harness::CellConfig& cell) const override {
    if (cell.algorithm == "report" && IntegerOr(cell.axes, "trees", 10) > 1024) {
      return "the report grows at most 1024 trees";
    }
    return {};
  }

  harness::Outcome measure(const harness::CellConfig& cell) override {
    const Supervised data =
        LoadSupervised(cell.dataset, static_cast<std::uint64_t>(cell.seed),
                       static_cast<std::size_t>(IntegerOr(cell.settings, "max_train", 0)));
    const auto trainer = MakeMethod<ForestTrainer>(cell);
    ForestOptions options;
    options.n_trees = static_cast<int>(IntegerOr(cell.axes, "trees", 10));
    if (const auto rule = cell.axes.find("rule"); rule != cell.axes.end()) {
      options.constant_rule = extratrees::ParseConstantRule(std::get<std::string>(rule->second));
    }
    options.seed = static_cast<std::uint64_t>(cell.seed);

    harness::Outcome outcome;
    outcome.verification = Verify(cell, *trainer, data, options);
    if (!outcome.verification.ok) return outcome;
    MeasureQuality(cell, *trainer, data, options, outcome);
    MeasureTime(cell, *trainer, data, options, outcome);
    outcome.facts["training rows"] = static_cast<std::int64_t>(data.train_rows);
    outcome.facts["test rows"] = static_cast<std::int64_t>(data.test_rows());
    return outcome;
  }

 private:
  static harness::Verification Verify(const harness::CellConfig& cell, ForestTrainer& trainer,
                                      const Supervised& data, const ForestOptions& options) {
    const auto fitted = trainer.fit(data.Train(), data.TrainLabels(), options);
    if (cell.algorithm == "frontier" && cell.device == "cuda") {
      return CompareWithTwin(*fitted, data, options);
    }
    const auto labels = fitted->predict(data.Train().values, data.train_rows);
    const double accuracy = extratrees::Accuracy(labels, data.TrainLabels());
    return {true, accuracy >= 0.98,       "accuracy on the training rows", accuracy,
            0.98, "the labels themselves"};
  }

  //! The first trees against the CPU's: all of them in a small forest.
  static harness::Verification CompareWithTwin(FittedForest& fitted, const Supervised& data,
                                               const ForestOptions& options) {
    ForestOptions few = options;
    few.n_trees = std::min(options.n_trees, 8);
    const auto twin = Registry<ForestTrainer>::Instance().Make("frontier", Device::kCpu, {});
    const auto expected = twin->fit(data.Train(), data.TrainLabels(), few);
    double different = 0;
    for (std::size_t t = 0; t < expected->host().trees.size(); ++t) {
      different += expected->host().trees[t] == fitted.host().trees[t] ? 0 : 1;
    }
    return {true,
            different == 0,
            "trees that differ from the CPU twin's",
            different,
            0,
            "the CPU twin, node by node"};
  }

  static void MeasureQuality(const harness::CellConfig& cell, ForestTrainer& trainer,
                             const Supervised& data, ForestOptions options,
                             harness::Outcome& outcome) {
    harness::Metric accuracy{"accuracy", "1", {}, {}, {}};
    harness::Metric nodes{"nodes", "nodes/tree", {}, {}, {}};
    harness::Metric depth{"depth", "1", {}, {}, {}};
    const std::uint64_t first = options.seed;
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      options.seed = first + static_cast<std::uint64_t>(r);
      const auto fitted = trainer.fit(data.Train(), data.TrainLabels(), options);
      const auto labels = fitted->predict(data.Test(), data.test_rows());
      accuracy.samples.push_back(extratrees::Accuracy(labels, data.TestLabels()));
      const Forest& forest = fitted->host();
      nodes.samples.push_back(static_cast<double>(forest.NodeCount()) / options.n_trees);
      depth.samples.push_back(forest.MeanDepth());
    }
    outcome.metrics = {accuracy, nodes, depth};
  }

  static void MeasureTime(const harness::CellConfig& cell, ForestTrainer& trainer,
                          const Supervised& data, const ForestOptions& options,
                          harness::Outcome& outcome) {
    std::unique_ptr<FittedForest> fitted;
    harness::RepeatOptions repeat;
    repeat.min_samples = static_cast<int>(cell.repeats);
    repeat.max_samples = std::max(repeat.min_samples, 30);
    repeat.budget = std::get<double>(cell.settings.at("min_time"));
    repeat.min_sample = 0;
    repeat.max_warmup_runs = 1;
    const auto timing = harness::TimeRepeated(
        [&] { fitted = trainer.fit(data.Train(), data.TrainLabels(), options); }, repeat);
    outcome.metrics.push_back({"time", "s", timing.seconds, {}, {}});
    outcome.facts["cores_used"] = timing.cores_used;
    for (const auto& part : fitted->parts) outcome.facts["last " + part.name] = part.seconds;
    for (const auto& [what, bytes] : fitted->memory) {
      outcome.facts["bytes " + what] = static_cast<std::int64_t>(bytes);
    }
  }
};

RETABLE_PROTOCOL(FitProtocol);

}  // namespace
}  // namespace retable::experiments::forests
