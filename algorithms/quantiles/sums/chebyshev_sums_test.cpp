#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_difference.hpp"

namespace retable::quantiles {
namespace {

#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__x86_64__)
using Wide = __float128;
#else
using Wide = long double;  // of 113 bits on Arm
#endif

//! Largest |E[T_k] - exact| over k, the exact one in 113 bits on the state's own map.
double WorstError(const ChebyshevSums& state, int order, const std::vector<double>& values) {
  std::vector<Wide> sum(static_cast<std::size_t>(order) + 1, 0);
  for (const double x : values) {
    const Wide t = state.map.half > 0 ? (static_cast<Wide>(x) - state.map.centre) / state.map.half
                                      : static_cast<Wide>(0);
    Wide before = 1;
    Wide now = t;
    for (std::size_t k = 1; k < sum.size(); ++k) {
      sum[k] += now;
      const Wide next = 2 * t * now - before;
      before = now;
      now = next;
    }
  }
  double worst = 0;
  for (std::size_t k = 1; k < sum.size(); ++k) {
    const Wide error = (state.sum[k] - sum[k]) / static_cast<Wide>(values.size());
    worst = std::max(worst, std::abs(static_cast<double>(error)));
  }
  return worst;
}

std::vector<double> ValuesOf(std::size_t n, const std::function<double(std::mt19937_64&)>& one) {
  std::mt19937_64 engine(11);
  std::vector<double> out(n);
  for (double& x : out) x = one(engine);
  return out;
}

//! The eight distributions that tell summation schemes apart: centred, offset, skewed, discrete.
std::map<std::string, std::vector<double>> Distributions(std::size_t n) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto pixel = [=](std::mt19937_64& e) mutable {
    return uniform(e) < 0.7 ? 0.0 : std::floor(256 * uniform(e));
  };
  return {
      {"normal", ValuesOf(n, [=](auto& e) mutable { return normal(e); })},
      {"normal+10", ValuesOf(n, [=](auto& e) mutable { return 10 + normal(e); })},
      {"normal+1e3", ValuesOf(n, [=](auto& e) mutable { return 1000 + normal(e); })},
      {"uniform[0,1]", ValuesOf(n, [=](auto& e) mutable { return uniform(e); })},
      {"uniform[1,2]", ValuesOf(n, [=](auto& e) mutable { return 1 + uniform(e); })},
      {"lognormal", ValuesOf(n, [=](auto& e) mutable { return std::exp(normal(e)); })},
      {"pixel", ValuesOf(n, pixel)},
      {"timestamp", ValuesOf(n, [=](auto& e) mutable { return 1.6e9 + 1e5 * uniform(e); })},
  };
}

TEST(ChebyshevSums, AreRightTo1e13OnEightDistributions) {
  for (const auto& [name, values] : Distributions(200003)) {
    ChebyshevAccumulator sums(15);
    sums.Update(std::span(values));
    EXPECT_LT(WorstError(sums.sums(), 15, values), 1e-13) << name;
    EXPECT_EQ(sums.sums().sum[0], 200003);
  }
}

TEST(ChebyshevSums, AreRightForFloatInput) {
  for (const auto& [name, values] : Distributions(20001)) {
    const std::vector<float> floats(values.begin(), values.end());
    ChebyshevAccumulator sums(15);
    sums.Update(std::span(floats));
    const std::vector<double> widened(floats.begin(), floats.end());
    EXPECT_LT(WorstError(sums.sums(), 15, widened), 1e-13) << name;
  }
}

TEST(ChebyshevSums, AreRightForEveryOrderAndSize) {
  const auto all = Distributions(5000).at("lognormal");
  for (int order = 1; order <= kMaxOrder; ++order) {
    for (const std::size_t n : {1u, 2u, 7u, 8u, 9u, 4095u, 4096u, 4097u}) {
      const std::vector<double> values(all.begin(), all.begin() + static_cast<long>(n));
      ChebyshevAccumulator sums(order);
      sums.Update(std::span(values));
      ASSERT_LT(WorstError(sums.sums(), order, values), 1e-13) << order << " " << n;
      ASSERT_EQ(sums.sums().sum[0], static_cast<double>(n));
      ASSERT_EQ(sums.sums().min, *std::min_element(values.begin(), values.end()));
      ASSERT_EQ(sums.sums().max, *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST(ChebyshevSums, CountTheirEnds) {
  auto values = Distributions(10007).at("pixel");
  ChebyshevAccumulator sums(15);
  sums.Update(std::span(values));
  EXPECT_EQ(sums.sums().at_min, std::count(values.begin(), values.end(), 0.0));
  EXPECT_EQ(sums.sums().at_max, std::count(values.begin(), values.end(), 255.0));
  const std::vector<double> constant(4099, -2.5);
  ChebyshevAccumulator one(15);
  one.Update(std::span(constant));
  EXPECT_EQ(one.sums().at_min, 4099);
  EXPECT_EQ(one.sums().at_max, 4099);
}

TEST(ChebyshevSums, MergeByWideningLosesNothing) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 50; ++trial) {
    // Two streams on unrelated intervals: nested, overlapping, or far apart.
    std::vector<double> all;
    ChebyshevAccumulator joined(15);
    for (int part = 0; part < 3; ++part) {
      const double centre = std::pow(10, 3 * uniform(engine));
      const double half = std::pow(10, 3 * uniform(engine));
      std::vector<double> values(static_cast<std::size_t>(1 + 100 * (1 + uniform(engine))));
      for (double& x : values) x = centre + half * uniform(engine);
      ChebyshevAccumulator sums(15);
      sums.Update(std::span(values));
      joined.Merge(sums);
      all.insert(all.end(), values.begin(), values.end());
    }
    ASSERT_LT(WorstError(joined.sums(), 15, all), 1e-13);
    ASSERT_LT(WorstError(joined.sums(), 15, all), joined.precision().error);
    ASSERT_EQ(joined.sums().sum[0], static_cast<double>(all.size()));
  }
}

TEST(ChebyshevSums, SkipNanAndCountInfinitiesApart) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto clean = Distributions(3000).at("normal");
  auto dirty = clean;
  for (std::size_t i = 0; i < dirty.size(); i += 5)
    dirty.insert(dirty.begin() + static_cast<long>(i), nan);
  ChebyshevAccumulator sums(15);
  sums.Update(std::span(dirty));
  EXPECT_EQ(sums.sums().sum[0], 3000);
  EXPECT_LT(WorstError(sums.sums(), 15, clean), 1e-13);
  ChebyshevAccumulator none(15);
  none.Update(std::span<const double>(std::vector<double>(100, nan)));
  EXPECT_EQ(none.sums().sum[0], 0);
  clean[1234] = -std::numeric_limits<double>::infinity();
  ChebyshevAccumulator infinite(15);
  infinite.Update(std::span(clean));
  EXPECT_EQ(infinite.infinities().low, 1u);
  EXPECT_EQ(infinite.infinities().high, 0u);
  EXPECT_EQ(infinite.sums().sum[0], 2999);
  clean.erase(clean.begin() + 1234);
  EXPECT_LT(WorstError(infinite.sums(), 15, clean), 1e-13);
}

TEST(ChebyshevSums, DifferWhereACountABoundOrAMomentDoes) {
  ChebyshevAccumulator sums(5);
  sums.Update(std::span<const double>(std::vector<double>{1, 2, 4, 4}));
  const ChebyshevSums exact = sums.sums();
  EXPECT_EQ(MomentDifference(exact, exact, 5), 0);
  const auto changed = [&](double ChebyshevSums::*field, double by) {
    ChebyshevSums other = exact;
    other.*field += by;
    return MomentDifference(other, exact, 5);
  };
  for (auto field : {&ChebyshevSums::min, &ChebyshevSums::max, &ChebyshevSums::at_max}) {
    EXPECT_TRUE(std::isinf(changed(field, 1)));
  }
  ChebyshevSums other = exact;
  other.sum[3] += 1;
  EXPECT_DOUBLE_EQ(MomentDifference(other, exact, 5), 0.25);
  other.sum[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isinf(MomentDifference(other, exact, 5)));
}

TEST(ChebyshevSums, FindTheLattice) {
  const auto digits = [](const auto& values) {
    ChebyshevAccumulator sums(15);
    sums.Update(std::span(values));
    return sums.digits();
  };
  EXPECT_EQ(digits(std::vector<double>{1, 2, -3, 1e6}), 0);
  EXPECT_EQ(digits(std::vector<float>{5.1f, 4.9f, 3.0f}), 1);
  EXPECT_EQ(digits(std::vector<double>{0.125, 0.5}), 3);
  EXPECT_EQ(digits(std::vector<float>{3.14159f}), 5);
  EXPECT_EQ(digits(std::vector<double>{0.1, 1.0 / 3}), kNoLattice);
  EXPECT_EQ(digits(std::vector<double>{1e18, 3}), kNoLattice);
  auto late = std::vector<double>(5000, 1.0);
  late[4500] = 1.25;
  EXPECT_EQ(digits(late), 2);
}

}  // namespace
}  // namespace retable::quantiles
