#include "harness/stats/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace retable::harness {
namespace {

// A machine: every process has a pace of its own, every sample within it some more noise.
class Machine {
 public:
  Machine(unsigned seed, double between, double within)
      : random_(seed), between_(between), within_(within) {}
  std::vector<double> Execution(double level, int samples = 15) {
    const double pace = level * std::exp(between_ * pace_(random_));
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) times.push_back(pace * std::exp(within_ * sample_(random_)));
    return times;
  }

 private:
  std::mt19937_64 random_;
  double between_, within_;
  std::normal_distribution<double> pace_, sample_;  // of spread 1: a spread of 0 is none
};

Noise Measured(Machine& machine, int pairs) {
  std::vector<SamePair> same;
  for (int i = 0; i < pairs; ++i) same.push_back({machine.Execution(1), machine.Execution(1)});
  return MeasureNoise(same, {});
}

struct Rates {
  int same = 0, slower = 0, faster = 0;
};

// A hundred comparisons under a rule, with and without a planted slowdown of 5 %.
Rates HundredComparisons(Machine& machine, const SignificanceRule& rule) {
  Rates rates;
  for (int i = 0; i < 100; ++i) {
    const auto before = machine.Execution(1);
    rates.same +=
        CompareTimes(before, machine.Execution(1), rule).significance == Significance::kSame;
    rates.slower +=
        CompareTimes(before, machine.Execution(1.05), rule).significance == Significance::kSlower;
    rates.faster +=
        CompareTimes(before, machine.Execution(0.95), rule).significance == Significance::kFaster;
  }
  return rates;
}

// The criterion: the same program is the same in 95 of 100 comparisons, whatever the machine, and
// where the noise allows it a slowdown of 5 % is found.
TEST(Noise, TheSameProgramIsTheSameInNinetyFiveOfAHundred) {
  for (const double between : {0.0, 0.003, 0.01}) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
      Machine machine(seed, between, 0.01);
      const Noise noise = Measured(machine, 100);
      EXPECT_GE(HundredComparisons(machine, noise.Rule(1)).same, 95)
          << "between processes " << between << ", seed " << seed << ", floor " << noise.floor;
    }
  }
}

TEST(Noise, FivePercentAreFoundWhereTheMachineIsSteady) {
  Machine machine(7, 0.003, 0.005);
  const Noise noise = Measured(machine, 60);
  const Rates rates = HundredComparisons(machine, noise.Rule(1));
  EXPECT_LT(noise.floor, 0.02);
  EXPECT_GE(rates.slower, 95);
  EXPECT_GE(rates.faster, 95);
}

// Two folders of 16 cells by one program on a noisy machine: any cell that is called faster or
// slower makes the comparison wrong. At most 5 of 100 may be.
TEST(Noise, OfAHundredComparisonsOfSixteenCellsAtMostFiveSaySomethingElse) {
  for (const double between : {0.003, 0.05, 0.2}) {
    Machine machine(11, between, 0.01);
    int wrong = 0, wrong_without = 0;
    Noise noise;
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == 0) noise = Measured(machine, 90);
      bool any = false, any_without = false;
      for (int cell = 0; cell < 16; ++cell) {
        const auto before = machine.Execution(1), after = machine.Execution(1);
        const auto differ = [&](const SignificanceRule& rule) {
          const auto verdict = CompareTimes(before, after, rule).significance;
          return verdict == Significance::kFaster || verdict == Significance::kSlower;
        };
        any = differ(noise.Rule(1, 16)) || any;
        any_without = differ(noise.Rule(1)) || any_without;
      }
      wrong += any;
      wrong_without += any_without;
    }
    EXPECT_LE(wrong, 5) << "between processes " << between;
    if (between > 0.01) {
      EXPECT_GT(wrong_without, 5) << "sixteen cells need no wider floor than one?";
    }
  }
}

// Without the A/A run the fixed 1 % takes such a machine's noise for changes.
TEST(Noise, AFixedFloorWouldNotDo) {
  Machine machine(3, 0.02, 0.003);
  EXPECT_LT(HundredComparisons(machine, SignificanceRule{}).same, 80);
  const Noise noise = Measured(machine, 100);
  EXPECT_GT(noise.floor, 0.02);
  EXPECT_GE(HundredComparisons(machine, noise.Rule(1)).same, 93);
}

TEST(Noise, NothingMeasuredIsTheAssumption) {
  const Noise noise = MeasureNoise({}, {});
  EXPECT_EQ(noise.floor, SignificanceRule{}.noise_floor);
  EXPECT_EQ(noise.pairs, 0);
  EXPECT_NE(NoiseText(noise).find("retable noise"), std::string::npos);
  // What is assumed takes a busy laptop's noise for none of a change's.
  EXPECT_GE(AssumedNoise().Rule(1, 100).noise_floor, 0.27);
}

TEST(Noise, PairedRatiosHaveAFloorOfTheirOwn) {
  const std::vector<double> ratios = {0.98, 1.01, 1.03};
  const Noise noise = MeasureNoise({}, ratios);
  EXPECT_GT(noise.paired, 0.03);
  EXPECT_LT(noise.paired, 0.034);
  EXPECT_EQ(noise.PairedRule().noise_floor, noise.paired);
}

// Short times are noisy and long ones are not: each is judged by its like.
TEST(Noise, ATimeIsJudgedByPairsOfItsLength) {
  Machine noisy(1, 0.3, 0.01), quiet(2, 0.003, 0.003);
  std::vector<SamePair> pairs;
  for (int i = 0; i < 80; ++i) {
    pairs.push_back({noisy.Execution(1e-6), noisy.Execution(1e-6)});
    pairs.push_back({quiet.Execution(0.1), quiet.Execution(0.1)});
  }
  const Noise noise = MeasureNoise(pairs, {});
  EXPECT_GT(noise.Rule(1e-6).noise_floor, 0.3);
  EXPECT_LT(noise.Rule(0.1).noise_floor, 0.02);
  const std::vector<double> times = {1e-6, 0.1};
  EXPECT_NE(NoiseText(noise, times).find(" to "), std::string::npos);
  EXPECT_LT(NoiseFromJson(NoiseJson(noise)).Rule(0.1).noise_floor, 0.02);
}

// Up and down are alike: half the time is as far as twice, and can be found under any floor.
TEST(Noise, AFloorAboveOneStillKnowsFaster) {
  EXPECT_EQ(Decide({0.1, 0.09, 0.11, IntervalMethod::kBootstrap}, true, {.noise_floor = 2}),
            Significance::kFaster);
  EXPECT_EQ(Decide({0.4, 0.34, 0.5, IntervalMethod::kBootstrap}, true, {.noise_floor = 2}),
            Significance::kSame);
}

TEST(Noise, ComesBackFromItsJsonAndTheLargerCounts) {
  Noise a;
  a.floor = 0.02;
  a.margin = 0.05;
  a.paired = 0.015;
  a.pairs = 40;
  a.measured = "2026-01-31T12:00:00Z";
  const Noise b = NoiseFromJson(NoiseJson(a));
  EXPECT_EQ(b.floor, 0.02);
  EXPECT_EQ(b.pairs, 40);
  EXPECT_EQ(b.measured, a.measured);
  EXPECT_EQ(NoiseFromJson("torn {").pairs, 0);
  EXPECT_EQ(NoiseFromJson("{\"floor\": \"high\"}").pairs, 0);
  Noise damaged = a;
  damaged.floor = -5;
  EXPECT_EQ(NoiseFromJson(NoiseJson(damaged)).floor, SignificanceRule{}.noise_floor);
  Noise c = a;
  c.floor = 0.03;
  c.margin = 0.04;
  EXPECT_EQ(Larger(a, c).floor, 0.03);
  EXPECT_EQ(Larger(a, c).margin, 0.05);
  EXPECT_EQ(Larger(a, Noise{}).floor, 0.02);  // measured beats assumed
}

}  // namespace
}  // namespace retable::harness
