// The measuring protocols of the family on small data whose answers are known, and its TOML files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "base/temporary_folder.hpp"
#include "datasets/openml/test_mirror.hpp"
#include "experiments/common/plan_testing.hpp"
#include "harness/config/experiment.hpp"
#include "harness/report/paper_cells.hpp"

namespace retable::harness {
namespace {

using experiments::MetricOf;

CellConfig Cell(const std::string& protocol, const std::string& algorithm,
                const std::string& data) {
  CellConfig cell = experiments::CellOf(protocol, algorithm, data);
  cell.repeats = 2;
  return cell;
}

TEST(FitProtocol, EveryMethodLearnsIris) {
  for (const char* algorithm : {"frontier", "report", "scikit-learn"}) {
    CellConfig cell = Cell("extratrees/fit", algorithm, "iris");
    cell.axes["trees"] = std::int64_t{20};
    cell.settings["min_time"] = 0.01;
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_TRUE(outcome.verification.ok) << algorithm;
    EXPECT_EQ(MetricOf(outcome, "accuracy").samples.size(), 2u);
    for (const double a : MetricOf(outcome, "accuracy").samples) EXPECT_GT(a, 0.85) << algorithm;
    EXPECT_GE(MetricOf(outcome, "time").samples.size(), 2u);
    ASSERT_EQ(outcome.costs.size(), 1u);
    EXPECT_EQ(outcome.costs[0].ceiling, "read");
    // 20 trees look at two features of 100 samples at the root alone, after 400 floats.
    EXPECT_GT(outcome.costs[0].amount, 1600 + 20 * 200);
    EXPECT_GT(std::get<double>(outcome.facts.at("cores_used")), 0);
  }
}

TEST(FitWork, CountsWhatInnerNodesLookAt) {
  extratrees::Forest grown;
  grown.trees.resize(2);
  grown.trees[0].nodes.resize(3);
  grown.trees[0].nodes[0].feature = 4;
  grown.trees[0].nodes[0].samples = 10;
  grown.trees[0].nodes[1].samples = 9;  // leaves are not looked at
  grown.trees[1].nodes.resize(1);
  const extratrees::FeatureMatrix data{nullptr, 10, 9};
  extratrees::ForestOptions options{.n_trees = 2};
  EXPECT_EQ(extratrees::FitWork(data, grown, options).at(0).amount, 360 + 3 * 10);
  options.n_trees = 8;  // the two stand for eight
  EXPECT_EQ(extratrees::FitWork(data, grown, options).at(0).amount, 360 + 4 * 3 * 10);
  EXPECT_EQ(extratrees::FitWork(data, {}, options).at(0).amount, 360);
}

TEST(FitProtocol, AStoppedRunIsScaledAndSaysSo) {
  CellConfig cell = Cell("extratrees/fit", "report", "digits");
  cell.axes["trees"] = std::int64_t{2};
  cell.parameters["max_steps"] = std::int64_t{10};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(outcome.metrics.size(), 1u);
  EXPECT_EQ(outcome.costs.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(outcome.facts.at("steps run")), 10);
  EXPECT_GT(std::get<std::int64_t>(outcome.facts.at("steps of a complete run")), 200);
}

TEST(FitProtocol, RulesAreAnAxis) {
  CellConfig cell = Cell("extratrees/fit", "frontier", "wine");
  cell.settings["min_time"] = 0.01;
  cell.axes["rule"] = std::string("report");
  EXPECT_TRUE(FindProtocol(cell.protocol).measure(cell).verification.ok);
  cell.axes["rule"] = std::string("nobody's");
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
}

// Cut to fewer bits it was measured as another: 2^32 + 2 trees as two.
TEST(ForestProtocols, SizesThatTheyDoNotTakeAreRefused) {
  const auto refuses = [](CellConfig cell, Values CellConfig::*where, const char* name,
                          std::int64_t value) {
    (cell.*where)[name] = value;
    EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument) << name;
  };
  for (const std::int64_t trees : {std::int64_t{0}, (std::int64_t{1} << 32) + 2}) {
    refuses(Cell("extratrees/fit", "frontier", "iris"), &CellConfig::axes, "trees", trees);
    for (const char* protocol : {"extratrees/kernels", "extratrees/memory"}) {
      CellConfig cell = Cell(protocol, "report", "iris");
      cell.axes = {{"kernel", std::string("kernel_update_trees")},
                   {"structure", std::string("trees")}};
      refuses(cell, &CellConfig::settings, "trees", trees);
    }
  }
  refuses(Cell("extratrees/fit", "frontier", "iris"), &CellConfig::settings, "max_train", -5);
}

// Grows the frontier's forest, and gives the last split of its last tree this right child.
class WrongChild final : public extratrees::ForestTrainer {
 public:
  explicit WrongChild(std::int64_t child) : child_(static_cast<std::int32_t>(child)) {}
  std::unique_ptr<extratrees::FittedForest> fit(const extratrees::FeatureMatrix& data,
                                                const extratrees::Targets& targets,
                                                const extratrees::ForestOptions& options) override {
    const auto frontier =
        Registry<extratrees::ForestTrainer>::Instance().Make("frontier", Device::kCpu, {});
    extratrees::Forest forest = frontier->fit(data, targets, options)->host();
    auto& nodes = forest.trees.back().nodes;
    const auto split = std::find_if(nodes.rbegin(), nodes.rend(),
                                    [](const auto& node) { return node.feature >= 0; });
    const auto own = static_cast<std::int32_t>(&*split - nodes.data());
    split->right = child_ == kItself ? own : child_;
    return std::make_unique<extratrees::HostForest>(std::move(forest));
  }

  static constexpr std::int32_t kItself = 1 << 20;

 private:
  std::int32_t child_;
};

// A child beyond the nodes ended the process that asked the forest; one before its parent was
// visited without end.
TEST(FitProtocol, RefusesAForestWhoseChildIsNoLaterNode) {
  Registry<extratrees::ForestTrainer>::Instance().Add(
      {.name = "WrongChild",
       .summary = "of this test",
       .citation = "",
       .parameters = {{"child", std::int64_t{0}, "of the last split"}},
       .make = [](const Parameters& p) {
         return std::make_unique<WrongChild>(IntegerParameter(p, "child", 0));
       }});
  for (const std::int64_t child : {-1, 0, WrongChild::kItself, 1 << 30}) {
    CellConfig cell = Cell("extratrees/fit", "WrongChild", "iris");
    cell.parameters["child"] = child;
    EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument) << child;
  }
}

// Grows the frontier's forest of other options, or none at all.
class OtherForest final : public extratrees::ForestTrainer {
 public:
  explicit OtherForest(std::string fault) : fault_(std::move(fault)) {}
  std::unique_ptr<extratrees::FittedForest> fit(const extratrees::FeatureMatrix& data,
                                                const extratrees::Targets& targets,
                                                const extratrees::ForestOptions& options) override {
    if (fault_ == "none") return nullptr;
    auto grown = Registry<extratrees::ForestTrainer>::Instance()
                     .Make("frontier", Device::kCpu, {})
                     ->fit(data, targets, options);
    if (fault_ == "trees") grown->host().trees.resize(1);
    if (fault_ == "columns") grown->host().columns = 1000;
    return grown;
  }

 private:
  std::string fault_;
};

// One tree of ten was timed as ten; rows were read beyond their end.
TEST(FitProtocol, RefusesAnotherForestThanWasAskedFor) {
  Registry<extratrees::ForestTrainer>::Instance().Add(
      {.name = "OtherForest",
       .summary = "of this test",
       .parameters = {{"fault", std::string("none"), "what is wrong"}},
       .make = [](const Parameters& p) {
         return std::make_unique<OtherForest>(TextParameter(p, "fault", "none"));
       }});
  for (const std::string fault : {"none", "trees", "columns"}) {
    CellConfig cell = Cell("extratrees/fit", "OtherForest", "iris");
    cell.parameters["fault"] = fault;
    EXPECT_ANY_THROW(FindProtocol(cell.protocol).measure(cell)) << fault;
  }
}

TEST(FitProtocol, RefusesARegressionTarget) {
  const CellConfig cell = Cell("extratrees/fit", "frontier", "diabetes");
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
}

const std::vector<std::string> kKernels = {"kernel_check_node_termination",
                                           "kernel_populate_class_counts",
                                           "kernel_collect_min_max",
                                           "kernel_populate_valid_feat_idx",
                                           "kernel_advance_trees",
                                           "kernel_populate_feat_cut",
                                           "kernel_place_best_feat_cuts",
                                           "kernel_update_trees",
                                           "kernel_collect_num_valid_feat",
                                           "kernel_refresh_tree_is_done",
                                           "kernel_depopulate_valid_feat_idx",
                                           "kernel_initialize_batch_pos",
                                           "kernel_initialize_trees"};

CellConfig KernelCell(const std::string& kernel) {
  CellConfig cell = Cell("extratrees/kernels", "report", "iris");
  cell.axes["kernel"] = kernel;
  cell.repeats = 1;
  return cell;
}

TEST(KernelsProtocol, EveryKernelOfTheTableIsTimed) {
  for (const auto& kernel : kKernels) {
    const CellConfig cell = KernelCell(kernel);
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_TRUE(outcome.verification.ok);
    EXPECT_GE(MetricOf(outcome, "calls").samples.front(), 1.0) << kernel;
    EXPECT_GT(MetricOf(outcome, "time").samples.front(), 0.0) << kernel;
    EXPECT_GT(MetricOf(outcome, "share").samples.front(), 0.0) << kernel;
    EXPECT_LT(MetricOf(outcome, "share").samples.front(), 100.0) << kernel;
  }
}

// A whole run takes minutes: one fit gives the times of all kernels.
TEST(KernelsProtocol, AFitIsSharedByTheKernelsOfARun) {
  const TemporaryFolder cache;
  setenv("RETABLE_CACHE", cache.path().c_str(), 1);
  double share = 0;
  for (const auto& kernel : kKernels) {
    const CellConfig cell = KernelCell(kernel);
    share += MetricOf(FindProtocol(cell.protocol).measure(cell), "share").samples.front();
  }
  EXPECT_NEAR(share, 100, 1e-9);  // of one fit
  // Asked again, a cell measures again: one measurement is never two samples.
  const CellConfig cell = KernelCell(kKernels.front());
  const double second = MetricOf(FindProtocol(cell.protocol).measure(cell), "time").samples.front();
  const double third = MetricOf(FindProtocol(cell.protocol).measure(cell), "time").samples.front();
  EXPECT_NE(second, third);
  unsetenv("RETABLE_CACHE");
}

TEST(KernelsProtocol, WhatHasNoCounterpartIsSkipped) {
  const CellConfig cell = KernelCell("init_random");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(outcome.status, "skipped");
  EXPECT_FALSE(outcome.reason.empty());
}

TEST(FitProtocol, NoRepeatBeginsAfterItsTime) {
  CellConfig cell = Cell("extratrees/fit", "frontier", "iris");
  cell.repeats = 5;
  cell.settings["max_time"] = 0.0;
  cell.settings["min_time"] = 0.0;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(MetricOf(outcome, "accuracy").samples.size(), 1u);
}

TEST(CountsProtocol, CountsIris) {
  const CellConfig cell = Cell("extratrees/counts", "report", "iris");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(MetricOf(outcome, "rows").samples.front(), 100);
  EXPECT_EQ(MetricOf(outcome, "classes").samples.front(), 3);
}

// The shape of MNIST is known where its data are not: the published bounds are judged anywhere.
TEST(MemoryProtocol, NeedsNoData) {
  const datasets::ScopedEnvironment off("RETABLE_OPENML_URL", "off");
  const TemporaryFolder cache;
  const datasets::ScopedEnvironment folder("RETABLE_CACHE", cache.path().string());
  CellConfig cell = Cell("extratrees/memory", "report", "mnist_784");
  const Protocol& protocol = FindProtocol(cell.protocol);
  EXPECT_TRUE(protocol.resolve("mnist_784").front().present);
  EXPECT_EQ(protocol.resolve("mnist_784").front().fetch, "");
  cell.axes["structure"] = std::string("X");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(MetricOf(outcome, "bytes").samples.front(), 60000.0 * 784 * 4);
}

TEST(MemoryProtocol, CountsIris) {
  CellConfig cell = Cell("extratrees/memory", "report", "iris");
  cell.axes["structure"] = std::string("trees");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(MetricOf(outcome, "times X").samples.front(), 1024.0 * 6 * 200 / (100 * 4));
  cell.axes["structure"] = std::string("total");  // without X transposed, as in the report's sum
  const double total = MetricOf(FindProtocol(cell.protocol).measure(cell), "times X").samples[0];
  EXPECT_EQ(total, 1 + (1024.0 * 6 * 200 + 1024.0 * 100) / (100 * 4));
}

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("extratrees", profile);
}

TEST(ForestExperiments, EveryArtifactIsThere) {
  std::set<std::string> artifacts;
  for (const auto& e : Load("quick")) artifacts.insert(e.artifact);
  for (const char* artifact : {"table1", "table2", "fig1", "fig2", "sampling", "memory", "accuracy",
                               "beyond_rules", "beyond_baseline", "beyond_ladder", "beyond_twin"}) {
    EXPECT_EQ(artifacts.count(artifact), 1u) << artifact;
  }
}

TEST(ForestExperiments, EveryProfilePlans) {
  experiments::ExpectEveryProfilePlans("extratrees");
}

TEST(ForestExperiments, RowsAndColumnsAreTheReports) {
  EXPECT_EQ(experiments::ExpectPlacesForPublishedCells("extratrees", "paper"), 4);
}

// "At most" and "at least" are bounds, and what is a fact of the data is no result.
TEST(ForestExperiments, KindsOfPublishedCells) {
  int bounds = 0;
  for (const Experiment& e : Load("paper")) {
    if (e.paper_file.empty()) continue;
    for (const PublishedCell& cell : ReadPaperCells(e.paper_file)) {
      if (e.artifact == "table1") {
        EXPECT_EQ(cell.kind, CellKind::kSetting) << cell.row;
      }
      bounds += cell.kind == CellKind::kBound ? 1 : 0;
    }
  }
  EXPECT_EQ(bounds, 4);
}

}  // namespace
}  // namespace retable::harness
