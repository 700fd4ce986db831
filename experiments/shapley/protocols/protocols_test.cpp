// The family's protocols on small input, and its TOML files against the published cells.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "algorithms/shapley/games/game_testing.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"
#include "base/temporary_folder.hpp"
#include "experiments/common/plan_testing.hpp"
#include "harness/config/experiment.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {
namespace {

using experiments::CellOf;

TEST(ShapleyExperiments, EveryProfilePlans) {
  experiments::ExpectEveryProfilePlans("shapley");
}

TEST(ShapleyExperiments, RowsAndColumnsAreThePapers) {
  EXPECT_EQ(experiments::ExpectPlacesForPublishedCells("shapley", "paper"),
            3);  // tables 2, 4 and 5
}

// What is a fact of the data is no result; what has a sampling error is judged by it.
TEST(ShapleyExperiments, KindsAndTolerancesOfPublishedCells) {
  for (const Experiment& e : experiments::LoadFamily("shapley", "paper")) {
    if (e.paper_file.empty()) continue;
    for (const PublishedCell& cell : ReadPaperCells(e.paper_file)) {
      if (e.artifact == "table2") {
        EXPECT_EQ(cell.kind, CellKind::kSetting) << cell.row;
      }
      if (cell.column == "Discrepancy") {
        EXPECT_EQ(cell.tolerance, 0.02) << cell.row;
      }
      EXPECT_EQ(cell.trials, cell.column == "Discrepancy std" ? 25 : 0) << cell.row;
    }
  }
}

TEST(DiscrepancyProtocol, MeasuresEveryRepeat) {
  CellConfig cell = CellOf("shapley/discrepancy", "Orthogonal", "permutations");
  cell.axes["dimension"] = std::int64_t{10};
  cell.axes["samples"] = std::int64_t{100};
  cell.repeats = 3;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  ASSERT_EQ(outcome.metrics.front().samples.size(), 3u);
  // Table 4: 0.070014, standard deviation 0.0017.
  for (double x : outcome.metrics.front().samples) EXPECT_NEAR(x, 0.070, 0.008);
  EXPECT_THROW(FindProtocol(cell.protocol).resolve("iris"), UnknownName);
  cell.axes["dimension"] = (std::int64_t{1} << 32) + 10;
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
}

double Mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

TEST(GeometryProtocol, ViewsMeasureWhatTheySay) {
  CellConfig cell = CellOf("shapley/geometry", "Sphere", "permutations");
  cell.repeats = 20;
  auto outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(outcome.metrics[0].samples.size(), 20u * 24u);
  EXPECT_NEAR(Mean(outcome.metrics[0].samples), 1, 1e-12);  // shares sum to d!
  EXPECT_NEAR(Mean(outcome.metrics[1].samples), 1, 0.3);    // chi-squared of independent points
  cell.algorithm = "Sobol";
  outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_LT(Mean(outcome.metrics[1].samples), 0.3);
  cell.settings["view"] = std::string("pairs");
  cell.settings["dimension"] = std::int64_t{10};
  cell.settings["points"] = std::int64_t{18};
  cell.algorithm = "Orthogonal";
  outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_LT(Mean(outcome.metrics[1].samples), 0.5);
  EXPECT_LT(Mean(outcome.metrics[2].samples), 0.15);  // tightly around 0, but for the opposites
  EXPECT_EQ(Mean(outcome.metrics[3].samples), 9);     // of nine vectors
  double area = 0;
  for (const double y : outcome.curves[0].y) area += y / 20;
  EXPECT_NEAR(area, 1, 1e-9);
  cell.settings["view"] = std::string("bounds");
  cell.algorithm = "MC";
  outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_LT(Mean(outcome.metrics[0].samples), 1);
  cell.settings["view"] = std::string("caps");
  cell.settings["points"] = std::int64_t{200};
  // Independent points: the mean square is (4/3) / n.
  EXPECT_NEAR(Mean(FindProtocol(cell.protocol).measure(cell).metrics[0].samples),
              std::sqrt(4.0 / 3 / 200), 0.02);
  cell.settings["view"] = std::string("maps");
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
  cell.settings["view"] = std::string("cells");
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);  // 10! cells
}

// Values the empty coalition and each player alone, of the standard library only; with an odd seed
// its answer is one player short, with a multiple of four it asks for ever.
const char* const kSingles = R"PY(
import json, struct, sys
source, target = sys.stdin.buffer, sys.stdout.buffer
def say(reply, data=b""):
    target.write(json.dumps(reply).encode() + b"\n" + data); target.flush()
say({"ready": "singles 1"})
for line in source:
    request = json.loads(line)
    if request["do"] == "load" and request["task"] == "shapley":
        d, odd, endless, phi = request["players"], request["seed"] % 2, request["seed"] % 4 == 0, None
    elif request["do"] == "load":
        v = struct.unpack("<%dd" % (d + 1), source.read(8 * (d + 1)))
        phi = None if endless else [v[i + 1] - v[0] for i in range(d - odd)]
    elif request["do"] == "answer" and phi is None:
        masks = bytes(1 if k == i + 1 else 0 for k in range(d + 1) for i in range(d))
        say({"ok": True, "arrays": [{"name": "coalitions", "type": "uint8", "shape": [d + 1, d]}]}, masks)
        continue
    elif request["do"] == "answer":
        say({"ok": True, "arrays": [{"name": "values", "type": "float64", "shape": [len(phi)]}]},
            struct.pack("<%dd" % len(phi), *phi))
        continue
    say({"ok": True})
)PY";

TEST(ExternalEstimator, AsksForValuesAndAnswers) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "singles.py";
  std::ofstream(path) << kSingles;
  setenv("RETABLE_ROOT", RETABLE_SOURCE_DIR, 1);
  const auto estimator = Registry<shapley::ShapleyEstimator>::Instance().Make(
      "External", Device::kCpu, {{"command", "python3 '" + path.string() + "'"}});
  for (const int d : {3, 12}) {
    const auto sum = shapley::FunctionGame(d, [](std::uint64_t s) {
      double total = 5;
      for (int i = 0; i < 12; ++i) total += ((s >> i) & 1) != 0 ? i + 0.5 : 0;
      return total;
    });
    const shapley::CountingGame counted(*sum);
    const auto estimate = estimator->estimate(counted, 20, 2);
    for (int i = 0; i < d; ++i) EXPECT_EQ(estimate.values[static_cast<std::size_t>(i)], i + 0.5);
    EXPECT_EQ(estimate.evaluations, d + 1);
    EXPECT_EQ(counted.unique(), d + 1);
    EXPECT_THROW(estimator->estimate(*sum, 20, 1), std::runtime_error);
    EXPECT_THROW(estimator->estimate(*sum, 20, 4), std::runtime_error);
    EXPECT_THROW(estimator->estimate(*sum, d, 2), std::invalid_argument);
  }
}

// An estimator whose answer is short by a value, not finite, or had for too many evaluations.
class Faulty final : public shapley::ShapleyEstimator {
 public:
  explicit Faulty(std::string fault) : fault_(std::move(fault)) {}

 protected:
  shapley::ShapleyEstimate Compute(const shapley::Game& game, int d, std::int64_t budget,
                                   std::uint64_t seed) const override {
    const auto honest =
        Registry<shapley::ShapleyEstimator>::Instance().Make("MC-antithetic", Device::kCpu, {});
    auto estimate = honest->estimate(game, fault_ == "spends" ? 3 * budget : budget, seed);
    if (fault_ == "short") estimate.values.resize(static_cast<std::size_t>(d) - 1);
    if (fault_ == "long") estimate.values.push_back(0);
    if (fault_ == "nan") estimate.values.back() = std::nan("");
    return estimate;
  }

 private:
  std::string fault_;
};

TEST(ErrorProtocols, FindIncompleteAnswersAndSpentBudgets) {
  Registry<shapley::ShapleyEstimator>::Instance().Add(
      {.name = "Faulty",
       .device = Device::kCpu,
       .summary = "of this test",
       .citation = "",
       .parameters = {{"fault", std::string("none"), "what is wrong"}},
       .make = [](const Parameters& p) -> std::unique_ptr<shapley::ShapleyEstimator> {
         return std::make_unique<Faulty>(TextParameter(p, "fault", "none"));
       }});
  for (const char* protocol : {"shapley/error", "shapley/unique"}) {
    for (const std::string fault : {"none", "short", "long", "nan", "spends"}) {
      CellConfig cell = CellOf(protocol, "Faulty", "breast_cancer");
      cell.parameters["fault"] = fault;
      cell.settings["foreground"] = std::int64_t{2};
      cell.axes["per_player"] = std::int64_t{4};
      cell.axes["rows_behind"] = std::int64_t{20};
      cell.repeats = 2;
      const Outcome outcome = FindProtocol(protocol).measure(cell);
      EXPECT_EQ(outcome.verification.ok, fault == "none") << protocol << " " << fault;
      EXPECT_EQ(outcome.metrics.empty(), fault != "none") << protocol << " " << fault;
    }
  }
}

// Permutations of MC with a fault.
class FaultySampler final : public shapley::PermutationSampler {
 public:
  explicit FaultySampler(std::string fault) : fault_(std::move(fault)) {}
  shapley::PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    auto all = Registry<shapley::PermutationSampler>::Instance()
                   .Make("MC", Device::kCpu, {})
                   ->sample(fault_ == "fewer" ? n / 2 : n, d, seed);
    if (fault_ == "repeats") all.orders[0] = all.orders[1];
    if (fault_ == "beyond") all.orders[0] = 1 << 30;
    if (fault_ == "negative") all.orders[0] = -1;
    if (fault_ == "ragged") all.orders.pop_back();
    if (fault_ == "weights") all.weights.assign(n, 1.0);
    if (fault_ == "few weights") all.weights = {1.0};
    if (fault_ == "dimension") ++all.dimension;
    return all;
  }

 private:
  std::string fault_;
};

TEST(PermutationProtocols, WhatIsNoSampleIsAWrongResult) {
  const std::vector<ParameterInfo> parameters = {{"fault", std::string("none"), "what is wrong"}};
  Registry<shapley::PermutationSampler>::Instance().Add(
      {.name = "FaultySampler", .parameters = parameters, .make = [](const Parameters& p) {
         return std::make_unique<FaultySampler>(TextParameter(p, "fault", "none"));
       }});
  Registry<shapley::ShapleyEstimator>::Instance().Add(
      {.name = "FaultySampler", .parameters = parameters, .make = [](const Parameters&) {
         return Registry<shapley::ShapleyEstimator>::Instance().Make("MC", Device::kCpu, {});
       }});
  for (const std::string fault : {"none", "fewer", "repeats", "beyond", "negative", "ragged",
                                  "weights", "few weights", "dimension"}) {
    for (const char* protocol : {"shapley/discrepancy", "shapley/error"}) {
      const bool error = std::string(protocol) == "shapley/error";
      CellConfig cell = CellOf(protocol, "FaultySampler", error ? "breast_cancer" : "permutations");
      cell.parameters["fault"] = fault;
      if (error) {
        cell.settings["foreground"] = std::int64_t{2};
      } else {
        cell.axes = {{"dimension", std::int64_t{10}}, {"samples", std::int64_t{100}}};
      }
      EXPECT_EQ(FindProtocol(protocol).measure(cell).verification.ok, fault == "none")
          << protocol << " " << fault;
    }
  }
}

TEST(ImageProtocols, DigitsAreExplained) {
  CellConfig cell = CellOf("shapley/image_error", "MC-antithetic", "digits");
  if (FindProtocol(cell.protocol).unsupported(cell)) GTEST_SKIP() << "no OpenCV";
  cell.settings["permutations"] = std::int64_t{4};
  cell.repeats = 3;
  auto outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(outcome.metrics[1].samples[0], 4 * 65);
  EXPECT_EQ(outcome.curves[0].y.size(), 64u);
  cell = CellOf("shapley/image_time", "MC", "digits");
  cell.settings["permutations"] = std::int64_t{4};
  outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  cell = CellOf("shapley/networks", "network", "digits");
  EXPECT_GT(FindProtocol(cell.protocol).measure(cell).metrics[0].samples[0], 0.97);
}

}  // namespace
}  // namespace retable::harness
