#include "harness/timing/timed_outcome.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

TimingResult TimedSamples() {
  TimingResult timing;
  timing.seconds = {0.5, 0.25};
  timing.stop_reason = "interval";
  return timing;
}

TEST(TimedOutcome, SaysHowItWasTimed) {
  Outcome outcome;
  TimingResult timing = TimedSamples();
  timing.included = "kernels only";
  AddTiming(outcome, timing);
  AddRate(outcome, timing, 1e6, "million items/s", 1e6);
  ASSERT_EQ(outcome.metrics.size(), 2u);
  EXPECT_EQ(outcome.metrics[0].samples, timing.seconds);
  EXPECT_TRUE(outcome.metrics[0].sm_mhz.empty());
  EXPECT_EQ(outcome.metrics[1].samples, std::vector<double>({2, 4}));
  EXPECT_EQ(std::get<std::string>(outcome.facts.at("timed")), "kernels only");
  EXPECT_EQ(std::get<std::string>(outcome.facts.at("stopped_by")), "interval");
  EXPECT_EQ(outcome.facts.count("sm_mhz"), 0u);
}

TEST(TimedOutcome, CarriesTheClockOfEachSample) {
  Outcome outcome;
  TimingResult timing = TimedSamples();
  timing.sm_mhz = {1980, 1200};
  timing.peak_mhz = 1980;
  timing.throttled = 1;
  AddTiming(outcome, timing);
  EXPECT_EQ(outcome.metrics[0].sm_mhz, timing.sm_mhz);
  EXPECT_EQ(std::get<std::int64_t>(outcome.facts.at("throttled_samples")), 1);
  // A time that was scaled up keeps the clocks of its samples.
  Outcome scaled;
  scaled.metrics = {{"time", "s", {5, 2.5}, {}, {}}};
  DescribeTiming(scaled, timing);
  EXPECT_EQ(scaled.metrics[0].samples, std::vector<double>({5, 2.5}));
  EXPECT_EQ(scaled.metrics[0].sm_mhz, timing.sm_mhz);
  EXPECT_EQ(std::get<std::string>(scaled.facts.at("stopped_by")), "interval");
  // Samples that are not those that were clocked get none.
  Outcome other;
  other.metrics = {{"time", "s", {1, 2, 3}, {}, {}}};
  AddClock(other, timing);
  EXPECT_TRUE(other.metrics[0].sm_mhz.empty());
}

}  // namespace
}  // namespace retable::harness
