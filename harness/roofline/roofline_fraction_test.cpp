#include "harness/roofline/roofline_fraction.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace retable::harness {
namespace {

const std::vector<Ceiling> kCeilings = {{"cpu, 1 thread", "copy", 10, "GB/s", ""},
                                        {"cpu, 8 threads", "copy", 40, "GB/s", ""},
                                        {"cpu, 1 thread", "FMA fp64", 20, "GFLOP/s", ""},
                                        {"cuda", "copy", 4000, "GB/s", ""},
                                        {"cuda", "gather", 20, "G/s", ""},
                                        {"cuda", "launch", 2, "us", ""}};

TEST(RooflineFraction, IsWorkOverTimeOverCeiling) {
  const auto fraction = RooflineFractionOf({{"copy", 2e9, true}}, 1e-3, "cuda", kCeilings);
  ASSERT_TRUE(fraction);
  EXPECT_DOUBLE_EQ(fraction->value, 0.5);
  EXPECT_EQ(fraction->ceiling, "copy, 4000 GB/s");
}

TEST(RooflineFraction, OneThreadIsHeldAgainstOneThread) {
  EXPECT_DOUBLE_EQ(RooflineFractionOf({{"copy", 1e9, false}}, 1, "cpu", kCeilings)->value, 0.1);
  EXPECT_DOUBLE_EQ(RooflineFractionOf({{"copy", 1e9, true}}, 1, "cpu", kCeilings)->value, 0.025);
}

TEST(RooflineFraction, TheLargestBinds) {
  const auto fraction =
      RooflineFractionOf({{"copy", 4e8, true}, {"gather", 16e6, true}}, 1e-3, "cuda", kCeilings);
  ASSERT_TRUE(fraction);
  EXPECT_DOUBLE_EQ(fraction->value, 0.8);
  EXPECT_EQ(fraction->ceiling, "gather, 20 G/s");
}

TEST(RooflineFraction, NothingKnownIsNothingSaid) {
  EXPECT_FALSE(RooflineFractionOf({}, 1, "cpu", kCeilings));
  EXPECT_FALSE(RooflineFractionOf({{"copy", 1, true}}, 1, "cpu", {}));
  EXPECT_FALSE(RooflineFractionOf({{"prayer", 1, true}}, 1, "cpu", kCeilings));
  EXPECT_FALSE(RooflineFractionOf({{"launch", 1, true}}, 1, "cuda", kCeilings));
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(RooflineFractionOf({{"copy", 1, true}}, seconds, "cuda", kCeilings));
  }
}

TEST(RooflineFraction, OfAnOutcomeItsMedianTimeInItsUnit) {
  Outcome outcome;
  outcome.costs = {{"copy", 2e9, true}};
  EXPECT_FALSE(RooflineFractionOf(outcome, "cuda", kCeilings));  // no time
  outcome.metrics = {{"rate", "items/s", {7}, {}, {}}, {"time", "ms", {9, 1, 0.5}, {}, {}}};
  EXPECT_DOUBLE_EQ(RooflineFractionOf(outcome, "cuda", kCeilings)->value, 0.5);
}

TEST(RooflineFraction, CeilingsComeBackFromTheirJson) {
  const auto again = CeilingsFromJson(CeilingsJson(kCeilings));
  ASSERT_EQ(again.size(), kCeilings.size());
  EXPECT_EQ(again[4].name, "gather");
  EXPECT_DOUBLE_EQ(again[3].value, 4000);
  EXPECT_TRUE(CeilingsFromJson("").empty());
  EXPECT_TRUE(CeilingsFromJson("{\"no\": 1}").empty());
}

TEST(Units, TimesAndRates) {
  EXPECT_TRUE(IsTime("us"));
  EXPECT_FALSE(IsTime("1"));
  EXPECT_TRUE(IsRate("million items/s"));
  EXPECT_FALSE(IsRate("/s"));
}

}  // namespace
}  // namespace retable::harness
