// The measuring protocols of the quantile family on small data whose answers are known.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "experiments/common/plan_testing.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "harness/protocol.hpp"
#include "harness/run/correctness_gate.hpp"

namespace retable::harness {
namespace {

using experiments::CellOf;

TEST(NiaeProtocol, MeasuresEveryColumnOfIris) {
  CellConfig cell = CellOf("quantiles/niae", "ME-central", "iris");
  cell.parameters["l"] = std::int64_t{15};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  const Metric& niae = outcome.metrics.front();
  ASSERT_EQ(niae.samples.size(), 4u);
  EXPECT_EQ(niae.items.front(), "sepal length");
  for (double e : niae.samples) {
    EXPECT_GT(e, 0);
    EXPECT_LT(e, 0.05);
  }
}

TEST(NiaeProtocol, AnExactSketchHasNoError) {
  const CellConfig cell = CellOf("quantiles/niae", "Sorted", "wine");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  ASSERT_EQ(outcome.metrics.front().samples.size(), 13u);
  for (double e : outcome.metrics.front().samples) EXPECT_EQ(e, 0);
}

TEST(NiaeProtocol, LeavesOutConstantColumnsAndCountsThem) {
  CellConfig cell = CellOf("quantiles/niae", "Legendre-central", "digits");
  cell.parameters["l"] = std::int64_t{5};
  auto& protocol = FindProtocol("quantiles/niae");
  EXPECT_EQ(protocol.measure(cell).metrics.front().samples.size(), 64u);
  cell.settings["constant"] = false;
  const Outcome outcome = protocol.measure(cell);
  EXPECT_EQ(outcome.facts.at("constant_columns_left_out"), Value(std::int64_t{3}));
  ASSERT_EQ(outcome.metrics.size(), 3u);
  EXPECT_EQ(outcome.metrics[2].name, "niae_cdf");
  for (const Metric& metric : outcome.metrics) {
    ASSERT_EQ(metric.samples.size(), 61u);
    for (double e : metric.samples) EXPECT_GE(e, 0) << metric.name;
  }
  for (double e : outcome.metrics[2].samples) EXPECT_GT(e, 0);
}

TEST(NiaeProtocol, TheTwoFormsAgreeForAMonotoneEstimateOnly) {
  for (const char* method : {"ME-central", "Legendre-central"}) {
    CellConfig cell = CellOf("quantiles/niae", method, "digits");
    cell.parameters["l"] = std::int64_t{5};
    cell.settings["constant"] = false;
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    double apart = 0;
    for (std::size_t i = 0; i < outcome.metrics[0].samples.size(); ++i) {
      apart =
          std::max(apart, std::abs(outcome.metrics[0].samples[i] - outcome.metrics[2].samples[i]));
    }
    if (std::string(method) == "ME-central") {
      EXPECT_LT(apart, 0.002);
    } else {
      EXPECT_GT(apart, 0.05);
    }
  }
}

TEST(NiaeProtocol, PositiveInputsLeaveOutColumnsThatTouchZero) {
  CellConfig all = CellOf("quantiles/niae", "Sorted", "breast_cancer");
  CellConfig positive = all;
  positive.settings["inputs"] = std::string("positive");
  auto& protocol = FindProtocol("quantiles/niae");
  EXPECT_EQ(protocol.measure(all).metrics.front().samples.size(), 30u);
  const auto kept = protocol.measure(positive).metrics.front().samples.size();
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 30u);
  positive.settings["inputs"] = std::string("negative");
  EXPECT_THROW(protocol.measure(positive), std::invalid_argument);
}

TEST(NiaeProtocol, AMethodThatCannotAnswerIsAFailedSample) {
  CellConfig cell = CellOf("quantiles/niae", "ME-log-central", "digits");  // pixels touch zero
  cell.parameters["l"] = std::int64_t{5};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(outcome.status, "ok");
  int failures = 0;
  for (double e : outcome.metrics.front().samples) failures += std::isnan(e) ? 1 : 0;
  EXPECT_GT(failures, 50);
}

using Fault = std::function<void(std::vector<double>&)>;

// Counts what it is fed, and has a fault in its answers. Of uniform values the others are right.
class Faulty final : public quantiles::QuantileSketch {
 public:
  explicit Faulty(Fault fault) : fault_(std::move(fault)) {}
  void update(std::span<const float> values) override { count_ += values.size(); }
  void update(std::span<const double> values) override { count_ += values.size(); }
  void merge(const QuantileSketch&) override {}
  std::size_t count() const override { return count_; }
  std::size_t bytes() const override { return sizeof(count_); }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<Faulty>(fault_);
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    std::vector<double> answers(phis.begin(), phis.end());
    fault_(answers);
    return answers;
  }

 private:
  Fault fault_;
  std::size_t count_ = 0;
};

// A cell of a method of this name that has this fault.
CellConfig CellOfFault(const std::string& protocol, const std::string& name, const Fault& fault) {
  auto& registry = Registry<quantiles::QuantileSketch>::Instance();
  if (registry.Find(name, Device::kCpu) == nullptr) {
    registry.Add({.name = name, .summary = "of this test", .make = [fault](const Parameters&) {
                    return std::make_unique<Faulty>(fault);
                  }});
  }
  CellConfig cell = CellOf(protocol, name, "synthetic uniform(0,1)");
  cell.axes["size"] = std::int64_t{1000};
  return cell;
}

TEST(AccuracyProtocols, NanOrInfinityThatIsNoDeclaredFailureIsAWrongResult) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double answer : {std::nan(""), kInfinite, -kInfinite, 0.95}) {
    for (const char* protocol :
         {"quantiles/niae", "quantiles/bytes", "quantiles/stream", "quantiles/throughput"}) {
      const CellConfig cell = CellOfFault(protocol, fmt::format("Answers {}", answer),
                                          [answer](auto& answers) { answers.back() = answer; });
      EXPECT_EQ(Gate(FindProtocol(protocol).measure(cell)).status,
                std::isfinite(answer) ? "ok" : "wrong_result")
          << protocol << ' ' << answer;
    }
  }
}

// Of a tenth of the values, NaN's rank is wrong by a tenth, as that of a rough method may be.
TEST(ThroughputProtocol, NanIsAWrongResultWhereverItStands) {
  const CellConfig cell = CellOfFault("quantiles/throughput", "NaN first",
                                      [](auto& answers) { answers.front() = std::nan(""); });
  EXPECT_EQ(Gate(FindProtocol(cell.protocol).measure(cell)).status, "wrong_result");
}

TEST(AccuracyProtocols, MoreOrFewerAnswersThanQuestionsAreRefused) {
  const std::vector<std::pair<std::string, Fault>> faults = {
      {"Fewer", [](auto& answers) { answers.pop_back(); }},
      {"More", [](auto& answers) { answers.push_back(0); }},
      {"None", [](auto& answers) { answers.clear(); }}};
  for (const auto& [name, fault] : faults) {
    for (const char* protocol : {"quantiles/niae", "quantiles/stream", "quantiles/throughput"}) {
      const CellConfig cell = CellOfFault(protocol, name, fault);
      EXPECT_THROW(FindProtocol(protocol).measure(cell), std::logic_error) << protocol << name;
    }
  }
}

TEST(NiaeProtocol, MissingValuesOfAColumnReachNoSketch) {
  CellConfig cell = CellOf("quantiles/niae", "Sorted", "synthetic missing(0.5)");
  cell.axes["size"] = std::int64_t{1000};
  experiments::ForEachInput(cell, [](const experiments::SketchInput& input) {
    EXPECT_LT(input.values.size(), 1000u);
    for (const float x : input.values) EXPECT_FALSE(std::isnan(x));
  });
}

TEST(SplitProtocol, NanAmongTheImpuritiesIsAWrongResult) {
  CellConfig cell = CellOf("quantiles/split", "mean", "synthetic normal(0,1)");
  cell.axes["size"] = std::int64_t{500};
  cell.axes["bins"] = std::int64_t{8};
  EXPECT_EQ(Gate(FindProtocol(cell.protocol).measure(cell)).status, "ok");
  cell.dataset = "synthetic normal(0,1e200)";  // its squares overflow
  EXPECT_EQ(Gate(FindProtocol(cell.protocol).measure(cell)).status, "wrong_result");
  cell.algorithm = "exact";
  EXPECT_EQ(Gate(FindProtocol(cell.protocol).measure(cell)).status, "ok");
  // One label on each side of the only threshold: the best split leaves no impurity.
  cell.dataset = "synthetic normal(0,1)";
  cell.axes["size"] = std::int64_t{2};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  for (const double loss : experiments::MetricOf(outcome, "loss").samples) EXPECT_EQ(loss, 0);
}

TEST(StreamProtocol, CentralMomentsHoldFarFromZeroAndTheReferencesAgree) {
  CellConfig cell = CellOf("quantiles/stream", "ME-central", "synthetic normal(1000,1)");
  cell.parameters["l"] = std::int64_t{10};
  cell.axes["size"] = std::int64_t{200000};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_LT(outcome.metrics.front().samples.front(), 0.003);
  for (const char* protocol : {"quantiles/stream", "quantiles/throughput", "quantiles/split"}) {
    EXPECT_THROW(FindProtocol(protocol).resolve("iris"), UnknownName) << protocol;
    EXPECT_EQ(FindProtocol(protocol).resolve("normal(0,1)").size(), 1u) << protocol;
  }
}

TEST(StreamProtocol, MissingValuesAreNoneOfTheStream) {
  CellConfig cell = CellOf("quantiles/stream", "Sorted", "synthetic missing(0.1)");
  cell.axes["size"] = std::int64_t{5000};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok) << outcome.verification.value;
  for (const Metric& metric : outcome.metrics) EXPECT_LT(metric.samples.front(), 1e-3);
  for (const char* protocol : {"quantiles/stream", "quantiles/niae", "quantiles/throughput"}) {
    CellConfig small = CellOf(protocol, "Sorted", "synthetic normal(0,1)");
    for (const std::int64_t size : {0, -5}) {
      small.axes["size"] = size;
      EXPECT_THROW(FindProtocol(protocol).measure(small), std::invalid_argument) << protocol;
    }
  }
}

TEST(SplitAndBatchProtocols, RefuseBinsAndTablesThatThereCannotBe) {
  const auto refuses = [](CellConfig cell, const char* axis, std::int64_t value) {
    cell.axes[axis] = value;
    EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument) << axis << value;
  };
  CellConfig split = CellOf("quantiles/split", "Retable", "synthetic normal(0,1)");
  split.axes["size"] = std::int64_t{500};
  for (const std::int64_t bins : {-1, 0, 1}) refuses(split, "bins", bins);
  CellConfig batch = CellOf("quantiles/batch", "Retable", "synthetic mixture of columns");
  for (const std::int64_t none : {-3, 0}) {
    refuses(batch, "rows", none);
    refuses(batch, "columns", none);
  }
  // Cut to 32 bits it would be 15.
  split.axes["bins"] = std::int64_t{8};
  split.parameters["l"] = (std::int64_t{1} << 32) + 15;
  EXPECT_THROW(FindProtocol(split.protocol).measure(split), std::invalid_argument);
}

TEST(ColumnsProtocol, DescribesTheInputs) {
  const CellConfig cell = CellOf("quantiles/columns", "columns", "iris");
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_EQ(outcome.metrics[0].samples, std::vector<double>(4, 150.0));
  EXPECT_EQ(outcome.metrics[1].samples.size(), 4u);
}

TEST(DensityProtocol, DrawsADensityThatIntegratesToOne) {
  CellConfig cell = CellOf("quantiles/density", "ME-central", "synthetic normal(0,1)");
  cell.parameters["l"] = std::int64_t{10};
  cell.axes["size"] = std::int64_t{20000};
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  ASSERT_EQ(outcome.curves.size(), 2u);
  const Curve& density = outcome.curves[0];
  double mass = 0;
  for (double y : density.y) mass += y * (density.x[1] - density.x[0]);
  EXPECT_NEAR(mass, 1, 0.01);
  const Curve& histogram = outcome.curves[1];
  double counted = 0;
  for (double y : histogram.y) counted += y * (histogram.x[1] - histogram.x[0]);
  EXPECT_NEAR(counted, 1, 1e-6);
  cell.algorithm = "KLL";
  cell.parameters.clear();
  EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument);
}

TEST(DensityProtocol, RefusesAColumnThatIsNotThere) {
  CellConfig cell = CellOf("quantiles/density", "ME-central", "iris");
  for (const std::int64_t column : {-1, 4}) {
    cell.settings["column"] = column;
    EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument) << column;
  }
}

TEST(ThroughputProtocol, TimesAVerifiedSketchAndKeepsTheRawReport) {
  CellConfig cell = CellOf("quantiles/throughput", "ME-naive", "synthetic normal(0,1)");
  cell.parameters["l"] = std::int64_t{5};
  cell.axes["size"] = std::int64_t{10000};
  cell.settings["min_time"] = 0.001;
  cell.repeats = 3;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  ASSERT_EQ(outcome.metrics.front().samples.size(), 3u);
  for (double t : outcome.metrics.front().samples) EXPECT_GT(t, 0);
  EXPECT_NE(outcome.attachments.at("benchmark.json").find("ME-naive"), std::string::npos);
}

}  // namespace
}  // namespace retable::harness
