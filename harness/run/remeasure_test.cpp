#include "harness/run/remeasure.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace retable::harness {
namespace {

Outcome Timed(std::vector<double> seconds) {
  Outcome outcome;
  outcome.metrics = {{"error", "1", {0.25}, {}, {}}, {"time", "s", std::move(seconds), {}, {}}};
  return outcome;
}

TEST(Remeasure, WidthIsOfTheTime) {
  EXPECT_FALSE(RelativeWidth(Outcome{}));
  EXPECT_TRUE(std::isinf(*RelativeWidth(Timed({1}))));
  EXPECT_EQ(*RelativeWidth(Timed({2, 2, 2, 2})), 0);
  EXPECT_GT(*RelativeWidth(Timed({1, 2, 3, 4, 5})), 0.1);
  Outcome failed = Timed({1, 2});
  failed.status = "failed";
  EXPECT_FALSE(RelativeWidth(failed));
}

TEST(Remeasure, SamplesAreAddedOthersStay) {
  CellRecord record;
  record.outcome = Timed({1, 2});
  EXPECT_EQ(Executions(record.outcome), 1);
  AddExecution(record, Timed({3}));
  AddExecution(record, Timed({4}));
  EXPECT_EQ(Executions(record.outcome), 3);
  EXPECT_EQ(record.outcome.metrics[0].samples, std::vector<double>({0.25}));
  EXPECT_EQ(record.outcome.metrics[1].samples, std::vector<double>({1, 2, 3, 4}));
}

// Those of a loaded record are files beside it.
TEST(Remeasure, AttachmentsAreThoseOfTheOtherExecution) {
  CellRecord record;
  record.outcome = Timed({1, 2});
  Outcome more = Timed({3});
  more.attachments = {{"benchmark.json", "{}"}};
  AddExecution(record, more);
  EXPECT_EQ(record.outcome.attachments, more.attachments);
}

TEST(Remeasure, ClocksAndThrottledSamplesAddUp) {
  const auto on_gpu = [](std::vector<double> mhz, std::int64_t throttled) {
    Outcome outcome = Timed({1, 1});
    outcome.metrics[1].sm_mhz = std::move(mhz);
    outcome.facts["sm_mhz"] = 1980.0;
    outcome.facts["throttled_samples"] = throttled;
    return outcome;
  };
  CellRecord record;
  record.outcome = on_gpu({1980, 1980}, 0);
  AddExecution(record, on_gpu({1400, 1300}, 2));
  EXPECT_EQ(record.outcome.metrics[1].sm_mhz, std::vector<double>({1980, 1980, 1400, 1300}));
  EXPECT_EQ(std::get<std::int64_t>(record.outcome.facts.at("throttled_samples")), 2);
  EXPECT_EQ(std::get<double>(record.outcome.facts.at("sm_mhz")), 1690);
}

TEST(Remeasure, AWrongExecutionIsAFinding) {
  CellRecord record;
  record.outcome = Timed({1, 2});
  Outcome wrong = Timed({1});
  wrong.status = "wrong_result";
  wrong.reason = "lost an item";
  AddExecution(record, wrong);
  EXPECT_EQ(record.outcome.status, "wrong_result");
  EXPECT_EQ(record.outcome.reason, "execution 2: lost an item");
  EXPECT_EQ(record.outcome.metrics[1].samples.size(), 2u);
}

TEST(Remeasure, OneUnsteadyExecutionMakesTheCellUnsteady) {
  CellRecord record;
  record.outcome = Timed({1, 2});
  record.outcome.facts["steady"] = true;
  Outcome more = Timed({3});
  more.facts = {{"steady", false}, {"unsteady", std::string("busy")}, {"others_processors", 1.5}};
  AddExecution(record, more);
  more.facts = {{"steady", true}, {"others_processors", 0.0}};
  AddExecution(record, more);
  EXPECT_EQ(record.outcome.facts.at("steady"), Value(false));
  EXPECT_EQ(record.outcome.facts.at("unsteady"), Value(std::string("busy")));
}

}  // namespace
}  // namespace retable::harness
