#include "harness/stats/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

namespace retable::harness {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

TEST(Quantile, Type7AsNumPyAndRHaveIt) {
  const std::vector<double> x = {4, 1, 3, 2};
  EXPECT_EQ(Quantile(x, 0), 1);
  EXPECT_EQ(Quantile(x, 1), 4);
  EXPECT_DOUBLE_EQ(Quantile(x, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile(x, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(Quantile(x, 0.1), 1.3);
  EXPECT_TRUE(std::isnan(Quantile({}, 0.5)));
  EXPECT_EQ(Quantile(std::vector<double>{7}, 0.3), 7);
  EXPECT_EQ(Quantile(std::vector<double>{1e308, -1e308}, 0.5), 0);  // no overflow
}

TEST(Summarise, NoSample) {
  const Summary s = Summarise({}, 1);
  EXPECT_EQ(s.n, 0);
  EXPECT_EQ(s.failures, 0);
  for (const double v : {s.median, s.ci_low, s.ci_high, s.mean, s.std, s.min, s.max}) {
    EXPECT_TRUE(std::isnan(v));
  }
}

TEST(Summarise, OneSampleHasNoSpread) {
  const Summary s = Summarise(std::vector<double>{3}, 1);
  EXPECT_EQ(s.n, 1);
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.ci_low, 3);
  EXPECT_EQ(s.ci_high, 3);
  EXPECT_EQ(s.mean, 3);
  EXPECT_TRUE(std::isnan(s.std));
}

TEST(Summarise, TwoSamplesSpanTheInterval) {
  const Summary s = Summarise(std::vector<double>{1, 3}, 1);
  EXPECT_EQ(s.median, 2);
  EXPECT_EQ(s.ci_low, 1);
  EXPECT_EQ(s.ci_high, 3);
  EXPECT_DOUBLE_EQ(s.std, std::sqrt(2.0));
}

TEST(Summarise, AllEqual) {
  for (const std::size_t n : {2, 10, 6000}) {
    const Summary s = Summarise(std::vector<double>(n, 0.1), 1);
    EXPECT_EQ(s.median, 0.1);
    EXPECT_EQ(s.ci_low, 0.1);
    EXPECT_EQ(s.ci_high, 0.1);
    EXPECT_DOUBLE_EQ(s.mean, 0.1);
    EXPECT_LT(s.std, 1e-15);
  }
}

TEST(Summarise, NaNIsAFailureAndCounted) {
  const Summary s = Summarise(std::vector<double>{kNaN, 2, kNaN, 1, 3}, 1);
  EXPECT_EQ(s.n, 3);
  EXPECT_EQ(s.failures, 2);
  EXPECT_EQ(s.median, 2);
  EXPECT_EQ(s.mean, 2);
  const Summary none = Summarise(std::vector<double>{kNaN, kNaN}, 1);
  EXPECT_EQ(none.n, 0);
  EXPECT_EQ(none.failures, 2);
  EXPECT_TRUE(std::isnan(none.median));
}

TEST(Summarise, InfinityIsAValue) {
  const Summary s = Summarise(std::vector<double>{1, 2, kInf}, 1);
  EXPECT_EQ(s.n, 3);
  EXPECT_EQ(s.median, 2);
  EXPECT_EQ(s.mean, kInf);
  EXPECT_EQ(s.max, kInf);
  EXPECT_EQ(s.ci_high, kInf);
  EXPECT_TRUE(std::isnan(s.std));
  EXPECT_EQ(MeanInterval(std::vector<double>{1, kInf}, 1).estimate, kInf);
}

TEST(Summarise, HugeValuesDoNotOverflow) {
  const Summary s = Summarise(std::vector<double>{1.5e308, 1.6e308, 1.7e308}, 1);
  EXPECT_DOUBLE_EQ(s.mean, 1.6e308);
  EXPECT_NEAR(s.std / 1e307, 1.0, 1e-9);
}

TEST(Summarise, MeanIsCompensated) {
  std::vector<double> x(1000, 1.0);
  x.push_back(1e16);
  x.push_back(-1e16);
  EXPECT_DOUBLE_EQ(Summarise(x, 1).mean, 1000.0 / 1002.0);
}

TEST(Summarise, KeepsOutliers) {
  std::vector<double> x;
  for (int i = 0; i <= 100; ++i) x.push_back(i);
  x.push_back(1e6);
  const Summary s = Summarise(x, 1);
  EXPECT_EQ(s.n, 102);
  EXPECT_EQ(s.max, 1e6);
}

TEST(Summarise, DeterministicAndBlindToOrder) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> x(101);
  for (double& v : x) v = normal(random);
  const Summary a = Summarise(x, 9), b = Summarise(x, 9);
  EXPECT_EQ(a.ci_low, b.ci_low);
  EXPECT_EQ(a.ci_high, b.ci_high);
  std::shuffle(x.begin(), x.end(), random);
  const Summary c = Summarise(x, 9);
  EXPECT_EQ(a.ci_low, c.ci_low);
  EXPECT_EQ(a.mean, c.mean);
  EXPECT_EQ(a.std, c.std);
}

TEST(MedianInterval, ExactBeyondFiveThousand) {
  std::vector<double> x(10000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i + 1);
  const Interval interval = MedianInterval(x, 1);
  EXPECT_EQ(interval.method, IntervalMethod::kOrderStatistic);
  // P(Bin(10000, 1/2) <= 4901) = 0.0244 <= 2.5 % < P(<= 4902), so ranks 4902 and 9999 - 4901 + 1.
  EXPECT_EQ(interval.low, 4902);
  EXPECT_EQ(interval.high, 10000 - 4901);
  EXPECT_EQ(interval.estimate, 5000.5);
}

TEST(MedianInterval, BootstrapAndExactAgreeAtTheSeam) {
  std::mt19937_64 random(6);
  std::exponential_distribution<double> exponential;
  std::vector<double> x(5000);
  for (double& v : x) v = exponential(random);
  const Interval boot = MedianInterval(x, 1);
  EXPECT_EQ(boot.method, IntervalMethod::kBootstrap);
  x.push_back(boot.estimate);
  const Interval exact = MedianInterval(x, 1);
  EXPECT_EQ(exact.method, IntervalMethod::kOrderStatistic);
  EXPECT_NEAR(boot.low, exact.low, 0.1 * (exact.high - exact.low));
  EXPECT_NEAR(boot.high, exact.high, 0.1 * (exact.high - exact.low));
}

// Share of `trials` in which the interval of `draw()`'s samples covers `truth`.
template <typename MakeInterval>
double Coverage(int trials, double truth, MakeInterval make) {
  int covered = 0;
  for (int t = 0; t < trials; ++t) {
    const Interval interval = make(static_cast<std::uint64_t>(t));
    covered += interval.low <= truth && truth <= interval.high;
  }
  return static_cast<double>(covered) / trials;
}

std::vector<double> Draw(std::size_t n, std::uint64_t seed,
                         const std::function<double(std::mt19937_64&)>& f) {
  std::mt19937_64 random(seed * 7919 + 17);
  std::vector<double> x(n);
  for (double& v : x) v = f(random);
  return x;
}

double Exponential(std::mt19937_64& random) {
  return std::exponential_distribution<double>()(random);
}
double LogNormal(std::mt19937_64& random) {
  return std::lognormal_distribution<double>()(random);
}

// With 400 trials the share is within 0.022 (two standard errors) of the true coverage.
TEST(Coverage, OfTheMedian) {
  for (const std::size_t n : {15, 50, 200}) {
    const double share = Coverage(400, std::log(2.0), [&](std::uint64_t t) {
      return MedianInterval(Draw(n, t, Exponential), t);
    });
    EXPECT_GE(share, 0.92) << n;
    EXPECT_LE(share, 0.99) << n;
  }
}

TEST(Coverage, OfTheMedianByOrderStatistics) {
  const double share = Coverage(
      300, 1.0, [&](std::uint64_t t) { return MedianInterval(Draw(5001, t, LogNormal), t); });
  EXPECT_GE(share, 0.92);
  EXPECT_LE(share, 0.985);
}

TEST(Coverage, OfTheMean) {
  // A percentile interval of a skewed mean is known to be a little short.
  const double share = Coverage(
      400, 1.0, [&](std::uint64_t t) { return MeanInterval(Draw(50, t, Exponential), t); });
  EXPECT_GE(share, 0.90);
  EXPECT_LE(share, 0.98);
  const double normal = Coverage(
      100, 1.0, [&](std::uint64_t t) { return MeanInterval(Draw(5001, t, Exponential), t); });
  EXPECT_GE(normal, 0.88);
}

// What docs/reading-a-report.md says of few samples.
TEST(Coverage, OfTheMeanOfFewSamples) {
  const std::map<std::size_t, double> told = {{3, 0.73}, {5, 0.83}, {10, 0.91}, {25, 0.94}};
  for (const auto& [n, coverage] : told) {
    const double share = Coverage(4000, 0.0, [n = n](std::uint64_t t) {
      const auto draw = [](std::mt19937_64& random) {
        return std::normal_distribution<double>()(random);
      };
      return MeanInterval(Draw(n, t, draw), t);
    });
    EXPECT_NEAR(share, coverage, 0.015) << n;
  }
}

TEST(Coverage, OfThePairedRatioUnderDrift) {
  // Both sides slow down by half over the run; the blocks cancel it. The true ratio is 1.05.
  const double share = Coverage(400, 1.05, [&](std::uint64_t t) {
    std::mt19937_64 random(t + 1);
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<PairedBlock> blocks;
    for (int i = 0; i < 20; ++i) {
      const double level = 1 + 0.5 * i / 20;
      blocks.push_back({1.05 * level * std::exp(noise(random)), level * std::exp(noise(random))});
    }
    return PairedRatio(blocks, t);
  });
  EXPECT_GE(share, 0.92);
  EXPECT_LE(share, 0.99);
}

TEST(Coverage, OfTheRatioOfMedians) {
  const double share = Coverage(400, 2.0, [&](std::uint64_t t) {
    std::vector<double> a = Draw(30, t, LogNormal);
    for (double& v : a) v *= 2;
    return RatioOfMedians(a, Draw(30, t + 100000, LogNormal), t);
  });
  EXPECT_GE(share, 0.92);
  EXPECT_LE(share, 0.99);
}

TEST(PairedRatio, LeavesOutWhatHasNoRatio) {
  const std::vector<PairedBlock> blocks = {{1, 0}, {kNaN, 1}, {3, 2}, {3, 2}};
  const Interval interval = PairedRatio(blocks, 1);
  EXPECT_EQ(interval.estimate, 1.5);
  EXPECT_EQ(interval.low, 1.5);
  EXPECT_TRUE(std::isnan(PairedRatio({}, 1).estimate));
}

TEST(RatioOfMedians, EdgeCases) {
  EXPECT_EQ(RatioOfMedians(std::vector<double>{3}, std::vector<double>{2}, 1).estimate, 1.5);
  EXPECT_TRUE(std::isnan(RatioOfMedians({}, std::vector<double>{2}, 1).low));
  const std::vector<double> large(6000, 3.0), small(10, 2.0);
  const Interval interval = RatioOfMedians(large, small, 1);
  EXPECT_EQ(interval.low, 1.5);
  EXPECT_EQ(interval.high, 1.5);
}

TEST(Drift, LastThirdAgainstFirst) {
  EXPECT_EQ(Drift(std::vector<double>{1, 9, 1}), 0);
  EXPECT_DOUBLE_EQ(Drift(std::vector<double>{1, 1, 1, 5, 5, 5, 2, 2, 2}), 1.0);
  EXPECT_EQ(Drift(std::vector<double>(30, 4.0)), 0);
}

// The interval misses the true median of 0 in at most so many cases, and is not there where it
// would.
TEST(Statistics, MedianBoundsHoldTheirError) {
  std::mt19937_64 random(5);
  std::cauchy_distribution<double> heavy(0, 1);
  for (const double error : {0.05, 0.01}) {
    int missed = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      std::vector<double> samples(15);
      for (double& sample : samples) sample = heavy(random);
      const Interval interval = MedianBounds(samples, error);
      ASSERT_EQ(interval.method, IntervalMethod::kOrderStatistic);
      missed += interval.low > 0 || interval.high < 0;
    }
    EXPECT_LE(missed, 4000 * error * 1.2);
    EXPECT_GE(missed, 4000 * error * 0.3);
  }
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(MedianBounds(six, 0.04).low, 1);
  EXPECT_EQ(MedianBounds(six, 0.04).high, 6);
  EXPECT_EQ(MedianBounds(six, 0.03).method, IntervalMethod::kNone);
  EXPECT_EQ(MedianBounds({}, 0.05).method, IntervalMethod::kNone);
}

}  // namespace
}  // namespace retable::harness
