#include "algorithms/quantiles/sums/power_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/sums/moments.hpp"

namespace retable::quantiles {
namespace {

#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__x86_64__)
using Wide = __float128;
#else
using Wide = long double;  // of 113 bits on Arm
#endif

//! E[T_k] of data mapped to [-1, 1], by the recurrence in 113 bits.
std::vector<double> ExactChebyshev(const std::vector<double>& values, double min, double max,
                                   int order) {
  std::vector<Wide> sum(static_cast<std::size_t>(order) + 1, 0);
  for (const double x : values) {
    const Wide t = (2 * static_cast<Wide>(x) - min - max) / (static_cast<Wide>(max) - min);
    Wide before = 1;
    Wide now = t;
    sum[0] += 1;
    for (std::size_t k = 1; k < sum.size(); ++k) {
      sum[k] += now;
      const Wide next = 2 * t * now - before;
      before = now;
      now = next;
    }
  }
  std::vector<double> out;
  for (const Wide s : sum) out.push_back(static_cast<double>(s / static_cast<Wide>(values.size())));
  return out;
}

std::vector<double> Normal(std::size_t n, double mean, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> out(n);
  for (double& x : out) x = normal(engine);
  return out;
}

double WorstError(const MomentAccumulator& moments, const std::vector<double>& values) {
  const auto mu = ChebyshevMoments(moments.scaled());
  const auto exact = ExactChebyshev(values, moments.min(), moments.max(), kMaxOrder);
  double worst = 0;
  for (std::size_t k = 0; k <= kMaxOrder; ++k) {
    const double error = std::abs(mu[k] - exact[k]);
    worst = std::isnan(error) ? error : std::max(worst, error);
  }
  return worst;
}

TEST(PowerSums, CentralSumsHoldOnOffsetData) {
  for (const double offset : {0.0, 10.0, 1000.0}) {
    const auto values = Normal(20000, offset, 7);
    const auto central = MakeCentralAccumulator(kMaxOrder);
    central->update(std::span(values));
    EXPECT_LT(WorstError(*central, values), 1e-9) << offset;
  }
}

TEST(PowerSums, RawSumsBreakOnOffsetData) {
  const auto centred = Normal(20000, 0, 7);
  const auto raw = MakeNaiveAccumulator(kMaxOrder);
  raw->update(std::span(centred));
  EXPECT_LT(WorstError(*raw, centred), 1e-9);

  const auto offset = Normal(20000, 1000, 7);
  const auto raw_offset = MakeNaiveAccumulator(kMaxOrder);
  raw_offset->update(std::span(offset));
  EXPECT_FALSE(WorstError(*raw_offset, offset) < 1);
}

TEST(PowerSums, MergeIsTheSumsOfBothStreams) {
  for (const auto& make : {MakeCentralAccumulator, MakeNaiveAccumulator}) {
    const auto a = Normal(1025, 0, 1);
    auto b = Normal(63, 5, 2);
    auto all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto left = make(kMaxOrder);
    const auto right = make(kMaxOrder);
    left->update(std::span(a));
    right->update(std::span(b));
    left->merge(*right);
    left->merge(*right->empty_clone());
    const auto empty = make(kMaxOrder);
    empty->merge(*left);
    EXPECT_EQ(empty->count(), all.size());
    EXPECT_LT(WorstError(*empty, all), 1e-9);
  }
}

TEST(PowerSums, MergeRefusesAnotherKindOrOrder) {
  const auto five = MakeCentralAccumulator(5);
  EXPECT_THROW(five->merge(*MakeCentralAccumulator(6)), std::invalid_argument);
  EXPECT_THROW(five->merge(*MakeNaiveAccumulator(5)), std::invalid_argument);
  EXPECT_THROW(MakeNaiveAccumulator(5)->merge(*five), std::invalid_argument);
  EXPECT_THROW(MakeNaiveAccumulator(0), std::invalid_argument);
  EXPECT_THROW(MakeCentralAccumulator(16), std::invalid_argument);
}

TEST(PowerSums, SkipNanEverywhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& make : {MakeCentralAccumulator, MakeNaiveAccumulator}) {
    for (const std::size_t n : {1u, 7u, 8u, 9u, 64u, 65u}) {
      auto clean = Normal(n, 0, n);
      std::vector<double> dirty;
      for (const double x : clean) {
        dirty.push_back(nan);
        dirty.push_back(x);
      }
      const auto moments = make(kMaxOrder);
      moments->update(std::span<const double>(dirty));
      ASSERT_EQ(moments->count(), n);
      if (n > 1) {
        EXPECT_LT(WorstError(*moments, clean), 1e-8);
      }
      EXPECT_EQ(moments->max(), *std::max_element(clean.begin(), clean.end()));
    }
  }
}

TEST(PowerSums, FloatInputGivesTheSumsOfItsDoubles) {
  const auto values = Normal(1001, 3, 5);
  const std::vector<float> floats(values.begin(), values.end());
  const std::vector<double> widened(floats.begin(), floats.end());
  for (const auto& make : {MakeCentralAccumulator, MakeNaiveAccumulator}) {
    const auto a = make(10);
    const auto b = make(10);
    a->update(std::span(floats));
    b->update(std::span(widened));
    EXPECT_EQ(a->scaled().moment, b->scaled().moment);
  }
}

TEST(PowerSums, FloatStatesAreRightToFloatPrecision) {
  const auto values = Normal(1024, 100, 9);
  auto state = CentralSums<float, 5>::Empty();
  for (const double x : values) state.Add(static_cast<float>(x));
  auto left = CentralSums<float, 5>::Empty();
  auto right = CentralSums<float, 5>::Empty();
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto one = CentralSums<float, 5>::Empty();
    one.Add(static_cast<float>(values[i]));
    (i % 3 == 0 ? left : right).Merge(one);
  }
  left.Merge(right);
  double mean = 0;
  for (const double x : values) mean += x / static_cast<double>(values.size());
  double m2 = 0;
  for (const double x : values) m2 += (x - mean) * (x - mean);
  for (const auto& s : {state, left}) {
    EXPECT_EQ(s.sum[0], 1024);
    EXPECT_NEAR(s.mean, mean, 1e-3);
    EXPECT_NEAR(2 * s.sum[2] / m2, 1, 1e-3);
  }
}

TEST(Moments, LegendreMomentsAreThoseOfThePolynomials) {
  const auto values = Normal(500, 0, 4);
  const auto central = MakeCentralAccumulator(kMaxOrder);
  central->update(std::span(values));
  const ScaledMoments scaled = central->scaled();
  const auto mu = LegendreMoments(scaled);
  std::array<double, kMaxOrder + 1> sum{};
  for (const double x : values) {
    const double t = (x - scaled.centre()) / scaled.half_range();
    for (unsigned k = 0; k <= kMaxOrder; ++k) sum[k] += std::legendre(k, std::clamp(t, -1.0, 1.0));
  }
  for (std::size_t k = 0; k <= kMaxOrder; ++k) EXPECT_NEAR(mu[k], sum[k] / 500, 1e-10) << k;
}

TEST(Moments, SoundMomentsAreFiniteAndAtMostOne) {
  std::array<double, kMaxOrder + 1> mu{};
  mu[3] = 1.0005;
  EXPECT_TRUE(MomentsAreSound(mu, 15, 1e-3));
  EXPECT_FALSE(MomentsAreSound(mu, 15, 1e-4));
  EXPECT_TRUE(MomentsAreSound(mu, 2, 1e-4));
  mu[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(MomentsAreSound(mu, 15, 1e300));
}

}  // namespace
}  // namespace retable::quantiles
