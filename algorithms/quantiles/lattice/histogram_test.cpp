#include "algorithms/quantiles/lattice/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"

namespace retable::quantiles {
namespace {

//! The map that the device would guess from these values.
template <class Real>
PointMap<Real> Guess(const std::vector<Real>& sample) {
  const auto [low, high] = std::minmax_element(sample.begin(), sample.end());
  for (const double rounding : {kRounding<double>, kRounding<Real>}) {
    int intervals = 1;
    if (*low < *high) {
      const SampleRange range = SampleRange::Of(*low, *high, rounding);
      for (const Real x : sample) intervals = range.Refine(intervals, x);
    }
    if (intervals > 0)
      return PointMap<Real>::Of(Lattice::Of<Real>(*low, *high, intervals, rounding));
  }
  return PointMap<Real>::Of({});
}

template <class Real>
bool IsOn(const PointMap<Real>& map, Real x) {
  return map.Is(x, map.Nearest(x));
}

//! Values step(k) for k drawn from first..last, both ends among them.
template <class Real, class Step>
std::vector<Real> Draw(int first, int last, const Step& step) {
  std::mt19937_64 engine(5);
  std::uniform_int_distribution<int> draw(first, last);
  std::vector<Real> values{step(first), step(last)};
  for (int i = 0; i < 3000; ++i) values.push_back(step(draw(engine)));
  return values;
}

template <class Real>
void ExpectAllOn(const std::vector<Real>& values, const char* what) {
  const PointMap<Real> map = Guess(values);
  ASSERT_TRUE(map.usable) << what;
  for (const Real x : values) ASSERT_TRUE(IsOn(map, x)) << what << " " << x;
}

template <class Real>
void ExpectLatticesAreFound() {
  ExpectAllOn(Draw<Real>(0, 255, [](int k) { return Real(k); }), "pixels");
  ExpectAllOn(Draw<Real>(0, 1, [](int k) { return Real(k); }), "labels");
  ExpectAllOn(Draw<Real>(-500, 500, [](int k) { return Real(k); }), "whole numbers");
  ExpectAllOn(Draw<Real>(0, 1023, [](int k) { return Real(k); }), "as many as there are points");
  ExpectAllOn(Draw<Real>(0, 255, [](int k) { return Real(k) / 255; }), "pixels over 255");
  ExpectAllOn(Draw<Real>(43, 79, [](int k) { return Real(k) / 10; }), "tenths");
  ExpectAllOn(Draw<Real>(-30, 900, [](int k) { return Real(k) / 100; }), "cents");
  ExpectAllOn(Draw<Real>(0, 90, [](int k) { return Real(k) / 3; }), "thirds");
  ExpectAllOn(Draw<Real>(1, 200, [](int k) { return Real(k) + Real(0.5); }), "halves");
  ExpectAllOn(Draw<Real>(5, 100, [](int k) { return 1000 * Real(k); }), "thousands");
  ExpectAllOn(Draw<Real>(1990, 2026, [](int k) { return Real(k); }), "years");
  ExpectAllOn(Draw<Real>(0, 63, [](int k) { return std::ldexp(Real(k), -40); }), "small");
  ExpectAllOn(Draw<Real>(1, 90, [](int k) { return std::ldexp(Real(k), 60); }), "large");
  for (const Real x : {Real(0), Real(3.25), Real(-7), Real(0.1), Real(1e20)}) {
    ExpectAllOn(std::vector<Real>(9, x), "constant");
  }
}

TEST(LatticeHistogram, FindLattices) {
  ExpectLatticesAreFound<float>();
  ExpectLatticesAreFound<double>();
}

TEST(LatticeHistogram, FindTheLatticeOfWholeNumbersFarOffZero) {
  ExpectAllOn(Draw<double>(0, 500, [](int k) { return 1.6e9 + k; }), "seconds");
  ExpectAllOn(Draw<double>(10000, 10100, [](int k) { return k / 10.0; }), "tenths");
  ExpectAllOn(Draw<float>(0, 200, [](int k) { return 5000.0f + static_cast<float>(k); }), "floats");
  ExpectAllOn(Draw<float>(0, 500, [](int k) { return 1.6e9f + 128.0f * static_cast<float>(k); }),
              "seconds in float32");
  ExpectAllOn(Draw<float>(1, 900, [](int k) { return static_cast<float>(k) - 5e6f; }), "negative");
}

TEST(LatticeHistogram, FindNoLatticeInContinuousOrWideData) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  for (const double centre : {0.0, 1e3, 1e9}) {
    std::vector<double> values(500);
    for (double& x : values) x = centre + normal(engine);
    EXPECT_FALSE(Guess(values).usable) << centre;
    if (centre < 1e6) {
      EXPECT_FALSE(Guess(std::vector<float>(values.begin(), values.end())).usable) << centre;
    }
  }
  EXPECT_FALSE(Guess(Draw<float>(0, 1024, [](int k) { return static_cast<float>(k); })).usable);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(Guess(std::vector<double>{0, 1, infinity}).usable);
  EXPECT_FALSE(Guess(std::vector<double>{-1e308, 1e308}).usable);
  EXPECT_FALSE(Guess(std::vector<float>{3e38f, -3e38f}).usable);
  EXPECT_FALSE(Guess(std::vector<float>{1e-44f, 3e-44f}).usable);
}

//! Whatever lattice was guessed, only the value of a point itself matches it, to the last bit.
template <class Real>
void ExpectOnlyPointsMatch(const std::vector<Real>& sample) {
  const PointMap<Real> map = Guess(sample);
  ASSERT_TRUE(map.usable);
  std::vector<Real> points;
  for (int i = 0; i < kLatticePoints; ++i) {
    const Real point = PointMap<Real>::Point(i);
    ASSERT_EQ(PointOffset(point), 4u * static_cast<unsigned>(i));
    points.push_back(map.Value(point));
    if (!IsOn(map, points.back())) continue;
    ASSERT_EQ(PointOffset(map.Nearest(points.back())), 4u * static_cast<unsigned>(i));
  }
  ASSERT_TRUE(std::is_sorted(points.begin(), points.end()));
  const auto expect = [&](Real x) {
    const bool known = std::binary_search(points.begin(), points.end(), x);
    ASSERT_TRUE(known || !IsOn(map, x)) << x;
  };
  const Real infinity = std::numeric_limits<Real>::infinity();
  for (const Real x : points) {
    expect(std::nextafter(x, infinity));
    expect(std::nextafter(x, -infinity));
  }
  for (const Real x :
       {infinity, -infinity, std::numeric_limits<Real>::max(), std::numeric_limits<Real>::lowest(),
        std::numeric_limits<Real>::denorm_min(), Real(1e9), Real(-1e9), Real(1e30)}) {
    expect(x);
  }
  EXPECT_FALSE(IsOn(map, std::numeric_limits<Real>::quiet_NaN()));
  std::mt19937_64 engine(9);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = engine();
    if constexpr (sizeof(Real) == 4) {
      expect(__builtin_bit_cast(float, static_cast<std::uint32_t>(bits)));
    } else {
      expect(__builtin_bit_cast(double, bits));
    }
  }
}

TEST(LatticeHistogram, NothingElseMatchesAPoint) {
  ExpectOnlyPointsMatch(Draw<float>(0, 255, [](int k) { return static_cast<float>(k); }));
  ExpectOnlyPointsMatch(Draw<float>(0, 255, [](int k) { return static_cast<float>(k) / 255; }));
  ExpectOnlyPointsMatch(Draw<float>(43, 79, [](int k) { return static_cast<float>(k) / 10; }));
  ExpectOnlyPointsMatch(Draw<double>(-300, 300, [](int k) { return k / 7.0; }));
  ExpectOnlyPointsMatch(Draw<double>(0, 500, [](int k) { return 1.6e9 + k; }));
  ExpectOnlyPointsMatch(Draw<float>(0, 40, [](int k) { return 1.6e9f + 128 * float(k); }));
  ExpectOnlyPointsMatch(Draw<float>(0, 40, [](int k) { return 3e5f + 2 * float(k); }));
  ExpectOnlyPointsMatch(std::vector<double>{0, 0});
}

TEST(LatticeHistogram, NegativeZeroIsZero) {
  const auto map = Guess(std::vector<float>{0, 1, 2, 255});
  EXPECT_TRUE(IsOn(map, -0.0f));
  EXPECT_EQ(map.Nearest(-0.0f), map.Nearest(0.0f));
}

TEST(LatticeHistogram, LeastDenominatorIsLeast) {
  for (int q = 1; q < 200; ++q) {
    for (int p = 1; p < q; ++p) {
      const int expected = q / std::gcd(p, q);
      EXPECT_EQ(LeastDenominator(static_cast<double>(p) / q, 1e-12, kLatticePoints), expected);
    }
  }
  EXPECT_EQ(LeastDenominator(0, 1e-12, kLatticePoints), 1);
  EXPECT_EQ(LeastDenominator(1 / std::sqrt(2), 1e-12, kLatticePoints), 0);
  EXPECT_EQ(LeastDenominator(1, 1e-12, kLatticePoints), 1);
}

TEST(LatticeHistogram, IntervalsJoinByTheirLeastCommonMultiple) {
  EXPECT_EQ(JoinIntervals(4, 6), 12);
  EXPECT_EQ(JoinIntervals(1, 1023), 1023);
  EXPECT_EQ(JoinIntervals(1, 1024), 0);
  EXPECT_EQ(JoinIntervals(31, 37), 0);
  EXPECT_EQ(JoinIntervals(0, 5), 0);
  EXPECT_EQ(JoinIntervals(5, 0), 0);
}

}  // namespace
}  // namespace retable::quantiles
