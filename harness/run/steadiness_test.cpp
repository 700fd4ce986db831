#include "harness/run/steadiness.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

Outcome Timed() {
  Outcome outcome;
  outcome.metrics = {{"error", "1", {0.5}, {}, {}},
                     {"time", "s", {1, 1, 1, 1, 1, 1, 2, 2, 2}, {}, {}}};
  return outcome;
}

Activity Others(double processors, int of = 2) {
  Activity activity;
  activity.seconds = 5;
  activity.others = processors;
  activity.processors = of;
  return activity;
}

TEST(Steadiness, IsOfTimedCellsOnly) {
  Outcome plain;
  plain.metrics = {{"error", "1", {0.5}, {}, {}}};
  JudgeSteadiness(plain, "cpu", Others(2));
  EXPECT_TRUE(plain.facts.empty());
  Outcome failed = Timed();
  failed.status = "failed";
  EXPECT_FALSE(IsTimed(failed));
  JudgeSteadiness(failed, "cpu", Others(2));
  EXPECT_TRUE(failed.facts.empty());
}

TEST(Steadiness, EachOfTheThreeRulesIsEnoughAndIsNamed) {
  Outcome calm = Timed();
  JudgeSteadiness(calm, "cpu", Others(0.1));
  EXPECT_EQ(calm.facts.at("steady"), Value(true));
  EXPECT_EQ(calm.facts.at("others_processors"), Value(0.1));
  EXPECT_EQ(WhyUnsteady(calm), "");

  Outcome busy = Timed();
  JudgeSteadiness(busy, "cpu", Others(1.6));
  EXPECT_EQ(busy.facts.at("steady"), Value(false));
  EXPECT_EQ(WhyUnsteady(busy), "other processes took 1.6 of 2 processors");
  EXPECT_EQ(WhyUnsteady(busy, "s"), WhyUnsteady(busy));
  EXPECT_EQ(WhyUnsteady(busy, "items/s"), WhyUnsteady(busy));
  EXPECT_EQ(WhyUnsteady(busy, "1"), "");  // an error is no time

  Outcome drifting = Timed();
  drifting.facts["steady"] = false;  // as the timing loop says
  JudgeSteadiness(drifting, "cpu", std::nullopt);
  EXPECT_EQ(WhyUnsteady(drifting), "the last third of its samples took 100 % more than the first");

  Outcome cool = Timed();
  cool.facts["throttled_samples"] = std::int64_t{1};
  Outcome slow = cool;
  JudgeSteadiness(slow, "cpu", std::nullopt);
  EXPECT_EQ(WhyUnsteady(slow), "the GPU's clock was low in 1 of 9 samples");
  cool.metrics[1].samples.resize(10, 1.0);
  JudgeSteadiness(cool, "cpu", std::nullopt);
  EXPECT_EQ(WhyUnsteady(cool), "");
}

TEST(Steadiness, OneBusyProcessorOfSixteenMattersToThreadsAlone) {
  Outcome threads = Timed();
  JudgeSteadiness(threads, "cpu", Others(1, 16));
  EXPECT_EQ(WhyUnsteady(threads), "other processes took 1.0 of 16 processors");
  Outcome calm = Timed();
  JudgeSteadiness(calm, "cpu", Others(0.4, 16));
  EXPECT_EQ(WhyUnsteady(calm), "");
  Outcome one = Timed();
  one.facts["pinned_to"] = std::int64_t{3};
  JudgeSteadiness(one, "cpu", Others(1, 16));
  EXPECT_EQ(WhyUnsteady(one), "");
  Outcome gpu = Timed();
  JudgeSteadiness(gpu, "cuda", Others(1, 16));
  EXPECT_EQ(WhyUnsteady(gpu), "");
}

}  // namespace
}  // namespace retable::harness
