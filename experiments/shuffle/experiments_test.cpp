// Every shuffle experiment loads and plans, and its names agree with its published cells.

#include "algorithms/shuffle/shuffler.hpp"
#include "experiments/common/paper_testing.hpp"
#include "experiments/common/plan_testing.hpp"
#include "experiments/shuffle/protocols/fairness.hpp"
#include "harness/config/experiment.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "harness/plan/plan.hpp"

namespace retable::harness {
namespace {

using experiments::NoGpu;

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("shuffle", profile);
}

TEST(ShuffleExperiments, EveryArtifactIsThere) {
  std::set<std::string> ids;
  for (const auto& e : Load("quick")) ids.insert(e.artifact);
  for (const char* artifact : {"fig6",
                               "fig7",
                               "fig8",
                               "fig9",
                               "fig10",
                               "fig11",
                               "fig12",
                               "fig13",
                               "fig14",
                               "fig15",
                               "table1",
                               "table2",
                               "table3",
                               "beyond_best_case",
                               "beyond_gpu",
                               "beyond_items",
                               "beyond_many_items",
                               "beyond_cpu",
                               "beyond_one_core",
                               "beyond_overview",
                               "beyond_power"}) {
    EXPECT_EQ(ids.count(artifact), 1u) << artifact;
  }
}

TEST(ShuffleExperiments, EveryProfilePlans) {
  experiments::ExpectEveryProfilePlans("shuffle");
}

// Writes an item twice and loses another, or writes one that is not among them.
class LosesAnItem final : public shuffle::Shuffler {
 public:
  explicit LosesAnItem(bool foreign) : foreign_(foreign) {}

 protected:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t) override {
    std::memcpy(out, in, n * item_bytes);
    std::memset(out, foreign_ ? 0xFF : 0, item_bytes);
    std::memset(static_cast<char*>(out) + item_bytes, 0, item_bytes);
  }

 private:
  bool foreign_;
};

TEST(UniformityProtocol, FindsAnswersThatAreNoOrder) {
  Registry<shuffle::Shuffler>::Instance().Add(
      {.name = "LosesAnItem",
       .device = Device::kCpu,
       .summary = "of this test",
       .citation = "",
       .parameters = {{"foreign", false, "whether an item of no order is written"},
                      {"rounds", std::int64_t{24}, "unused"}},
       .make = [](const Parameters& p) -> std::unique_ptr<shuffle::Shuffler> {
         return std::make_unique<LosesAnItem>(SwitchParameter(p, "foreign", false));
       }});
  for (const bool foreign : {false, true}) {
    CellConfig cell = experiments::CellOf("shuffle/uniformity", "LosesAnItem", "sequence");
    cell.parameters["foreign"] = foreign;
    cell.axes["rounds"] = std::int64_t{24};
    cell.settings["orders"] = std::int64_t{2000};
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_FALSE(outcome.verification.ok);
    EXPECT_TRUE(outcome.metrics.empty());
  }
}

// Right once; then it writes nothing, one item in every place, or each time another order.
class RightOnce final : public shuffle::Shuffler {
 public:
  explicit RightOnce(std::string later) : later_(std::move(later)) {}

 protected:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t) override {
    if (calls_++ > 0 && later_ == "nothing") return;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t from = later_ == "other" ? (i + calls_) % n : calls_ > 1 ? 0 : i;
      std::memcpy(static_cast<char*>(out) + i * item_bytes,
                  static_cast<const char*>(in) + from * item_bytes, item_bytes);
    }
  }

 private:
  std::string later_;
  std::uint64_t calls_ = 0;
};

TEST(ThroughputProtocol, WhatTheTimedCallsWriteIsChecked) {
  Registry<shuffle::Shuffler>::Instance().Add(
      {.name = "RightOnce",
       .summary = "of this test",
       .parameters = {{"later", std::string("nothing"), "what later calls write"}},
       .make = [](const Parameters& p) {
         return std::make_unique<RightOnce>(TextParameter(p, "later", "nothing"));
       }});
  for (const std::string later : {"nothing", "one item", "other"}) {
    CellConfig cell = experiments::CellOf("shuffle/throughput", "RightOnce", "sequence");
    cell.parameters["later"] = later;
    cell.axes = {
        {"w", std::int64_t{8}}, {"extra", std::int64_t{0}}, {"item_bytes", std::int64_t{8}}};
    cell.settings["budget"] = 0.01;
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_FALSE(outcome.verification.ok) << later;
    EXPECT_TRUE(outcome.metrics.empty()) << later;
  }
}

TEST(ShuffleExperiments, RowsAndColumnsAreThePapers) {
  EXPECT_EQ(experiments::ExpectPlacesForPublishedCells("shuffle", "paper"), 3);
}

TEST(ShuffleExperiments, ClaimsHoldForTheNumbersOfTheWork) {
  const std::map<std::string, std::string> table_of = {
      {"fig11", "table1"}, {"fig12", "table2"}, {"fig13", "table3"}};
  EXPECT_GE(experiments::ExpectClaimsHoldInTheWork("shuffle", table_of), 15);
}

// What was measured for a table is not measured again for its figures.
TEST(ShuffleExperiments, FiguresAreDrawnFromTheCellsOfTheirTables) {
  const std::map<std::string, std::string> table_of = {{"fig11", "table1"},
                                                       {"fig12", "table2"},
                                                       {"fig13", "table3"},
                                                       {"fig14", "table1"},
                                                       {"fig15", "table3"}};
  for (const char* profile : {"smoke", "quick", "paper"}) {
    std::map<std::string, std::vector<std::string>> keys;
    for (const auto& e : Load(profile)) {
      for (const auto& cell : MakePlan(e, NoGpu()).cells) keys[e.artifact].push_back(cell.key);
    }
    for (const auto& [figure, table] : table_of) {
      EXPECT_FALSE(keys[figure].empty());
      EXPECT_EQ(keys[figure], keys[table]) << figure << " and " << table << ", " << profile;
    }
  }
}

// Cut to fewer bits they were measured as others: 2^64 items as one.
TEST(ShuffleProtocols, SizesThatTheyDoNotTakeAreRefused) {
  const auto refuses = [](CellConfig cell, Values CellConfig::*where, const char* name,
                          std::int64_t value) {
    (cell.*where)[name] = value;
    EXPECT_THROW(FindProtocol(cell.protocol).measure(cell), std::invalid_argument) << name;
  };
  const CellConfig throughput = experiments::CellOf("shuffle/throughput", "Partition", "sequence");
  for (const std::int64_t w : {-1, 37, 64, 70}) refuses(throughput, &CellConfig::axes, "w", w);
  refuses(throughput, &CellConfig::axes, "extra", -1);
  for (const std::int64_t bytes : {-8, 0, 1, 12, 32}) {
    refuses(throughput, &CellConfig::axes, "item_bytes", bytes);
  }
  const CellConfig uniformity = experiments::CellOf("shuffle/uniformity", "LCG", "sequence");
  refuses(uniformity, &CellConfig::settings, "n", (std::int64_t{1} << 32) + 5);
  for (const std::int64_t orders : {-2, 0, 1, 1001}) {
    refuses(uniformity, &CellConfig::settings, "orders", orders);
  }
  const CellConfig power = experiments::CellOf("shuffle/power", "LCG", "sequence");
  refuses(power, &CellConfig::axes, "items", (std::int64_t{1} << 32) + 64);
  refuses(power, &CellConfig::settings, "limit", 32);  // no look at all rejected nothing
}

TEST(Fairness, SeesTheParityLockAndNoFaultInOurs) {
  const auto judge = [](const char* method) {
    const auto shuffler = Registry<shuffle::Shuffler>::Instance().Make(method, Device::kCpu, {});
    return experiments::JudgeOrders(*shuffler, 500, 3);
  };
  EXPECT_LT(judge("VarPhilox").p, 1e-4);
  EXPECT_EQ(judge("VarPhilox").lowest, "parity, n = 64");
  EXPECT_GT(judge("Partition").p, 1e-4);
}

}  // namespace
}  // namespace retable::harness
