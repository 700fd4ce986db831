#include "harness/stats/significance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace retable::harness {
namespace {

Interval Of(double low, double high) {
  return {(low + high) / 2, low, high, IntervalMethod::kBootstrap};
}

TEST(Significance, EveryVerdict) {
  EXPECT_EQ(Decide(Of(1.02, 1.05), true), Significance::kSlower);
  EXPECT_EQ(Decide(Of(0.90, 0.95), true), Significance::kFaster);
  EXPECT_EQ(Decide(Of(0.99, 1.02), true), Significance::kSame);
  EXPECT_EQ(Decide(Of(0.99, 1.10), true), Significance::kAmbiguous);
  EXPECT_EQ(Decide(Of(0.90, 1.10), true), Significance::kAmbiguous);
  EXPECT_EQ(Decide(Of(1.02, 1.05), false), Significance::kNotSteady);
}

TEST(Significance, TheNoiseFloorDecides) {
  EXPECT_EQ(Decide(Of(1.015, 1.02), true, {.noise_floor = 0.01}), Significance::kSlower);
  EXPECT_EQ(Decide(Of(1.015, 1.02), true, {.noise_floor = 0.02}), Significance::kSame);
  EXPECT_EQ(Decide(Of(0.95, 1.05), true, {.noise_floor = 0.06}), Significance::kSame);
}

TEST(Significance, WithoutAnIntervalNothingIsDecided) {
  EXPECT_EQ(Decide({2, 2, 2, IntervalMethod::kPoint}, true), Significance::kAmbiguous);
  EXPECT_EQ(Decide({std::nan(""), std::nan(""), std::nan(""), IntervalMethod::kNone}, true),
            Significance::kAmbiguous);
  const std::vector<double> one = {1}, many = {2, 2, 2, 2};
  EXPECT_EQ(CompareTimes(one, many).significance, Significance::kAmbiguous);
  EXPECT_EQ(CompareTimes(many, one).significance, Significance::kAmbiguous);
  EXPECT_EQ(CompareTimes({}, {}).significance, Significance::kAmbiguous);
}

std::vector<double> Times(std::mt19937_64& random, double level, int n = 15) {
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<double> times;
  for (int i = 0; i < n; ++i) times.push_back(level * std::exp(noise(random)));
  return times;
}

// What the comparison is for: the same code is the same, a planted slowdown is found.
TEST(Significance, SameCodeIsTheSameAndFivePercentAreFound) {
  int same = 0, slower = 0, faster = 0;
  for (int trial = 0; trial < 100; ++trial) {
    std::mt19937_64 random(static_cast<unsigned>(trial));
    const auto old_times = Times(random, 1);
    same += CompareTimes(old_times, Times(random, 1)).significance == Significance::kSame;
    slower += CompareTimes(old_times, Times(random, 1.05)).significance == Significance::kSlower;
    faster +=
        CompareTimes(old_times, Times(random, 1 / 1.05)).significance == Significance::kFaster;
  }
  EXPECT_GE(same, 95);
  EXPECT_GE(slower, 95);
  EXPECT_GE(faster, 95);
}

TEST(Significance, DriftIsNotJudged) {
  std::vector<double> drifting;
  for (int i = 0; i < 30; ++i) drifting.push_back(1 + 0.02 * i);
  const std::vector<double> flat(30, 1.0);
  EXPECT_EQ(CompareTimes(flat, drifting).significance, Significance::kNotSteady);
  EXPECT_EQ(CompareTimes(drifting, flat).significance, Significance::kNotSteady);
}

TEST(Significance, EveryVerdictHasANameAndANextStep) {
  for (const Significance significance :
       {Significance::kFaster, Significance::kSlower, Significance::kSame, Significance::kAmbiguous,
        Significance::kNotSteady}) {
    EXPECT_FALSE(Name(significance).empty());
    EXPECT_FALSE(NextStep(significance, "x/y").empty());
  }
  EXPECT_NE(NextStep(Significance::kAmbiguous, "x/y").find("retable run x/y"), std::string::npos);
  EXPECT_NE(NextStep(Significance::kAmbiguous, "x/y", true).find("--blocks"), std::string::npos);
}

}  // namespace
}  // namespace retable::harness
