#include "algorithms/quantiles/niae.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace retable::quantiles {
namespace {

std::vector<double> Range(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0.0);
  return out;
}

TEST(Niae, IsZeroForTheEmpiricalQuantiles) {
  const auto sorted = Range(137);
  std::vector<double> exact;
  for (const double phi : NiaePhis()) exact.push_back(EmpiricalQuantile(sorted, phi));
  EXPECT_EQ(Niae(sorted, exact), 0);
}

TEST(Niae, IsHalfForAnEndOfABinaryColumn) {
  const std::vector<double> sorted{0, 0, 0, 1, 1, 1};
  EXPECT_NEAR(Niae(sorted, std::vector<double>(1000, 0.0)), 0.5, 1e-3);
  EXPECT_NEAR(Niae(sorted, std::vector<double>(1000, 0.5)), 0.5, 1e-12);
}

TEST(Niae, OfAConstantGuessIsTheMeanDistance) {
  // integral |x - c| over uniform data on [0, 1]: (c^2 + (1-c)^2) / 2.
  std::vector<double> sorted = Range(100000);
  for (double& x : sorted) x /= 99999;
  EXPECT_NEAR(Niae(sorted, std::vector<double>(1000, 0.25)), (0.0625 + 0.5625) / 2, 1e-4);
}

TEST(Niae, DoesNotDependOnUnits) {
  const std::vector<double> a{0, 1, 5};
  const std::vector<double> b{100, 120, 200};
  EXPECT_NEAR(Niae(a, std::vector<double>(50, 2.0)), Niae(b, std::vector<double>(50, 140.0)),
              1e-14);
}

TEST(Niae, TreatsConstantColumnsAndNan) {
  const std::vector<double> sorted{3, 3};
  EXPECT_EQ(Niae(sorted, std::vector<double>(10, 3.0)), 0);
  EXPECT_TRUE(std::isinf(Niae(sorted, std::vector<double>(10, 3.5))));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Niae(std::vector<double>{0, 1}, std::vector<double>(10, nan))));
  EXPECT_THROW(Niae({}, std::vector<double>(10, 3.0)), std::invalid_argument);
  EXPECT_THROW(Niae(sorted, std::vector<double>{1.0}), std::invalid_argument);
}

TEST(NiaeOfCdf, IsTheMeanOverEvenStepsOfTheRange) {
  const std::vector<double> sorted{0, 0, 0, 1};
  EXPECT_NEAR(NiaeOfCdf(sorted, std::vector<double>{0.75, 0.75, 0.75, 1}), 0, 1e-15);
  EXPECT_NEAR(NiaeOfCdf(sorted, std::vector<double>{0.5, 0.25, 0.75, 1.25}), 1.0 / 4, 1e-15);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(NiaeOfCdf(sorted, std::vector<double>{0.5, nan})));
  EXPECT_THROW(NiaeOfCdf({}, std::vector<double>(10, 0.5)), std::invalid_argument);
  EXPECT_THROW(NiaeOfCdf(sorted, std::vector<double>{0.5}), std::invalid_argument);
}

TEST(EmpiricalQuantile, TakesTheElementOfRankFloorNPhi) {
  const auto sorted = Range(10);
  EXPECT_EQ(EmpiricalQuantile(sorted, 0), 0);
  EXPECT_EQ(EmpiricalQuantile(sorted, 0.5), 5);
  EXPECT_EQ(EmpiricalQuantile(sorted, 0.59), 5);
  EXPECT_EQ(EmpiricalQuantile(sorted, 1), 9);
}

TEST(IntervalRankError, IsZeroInsideOfTies) {
  const std::vector<double> sorted{0, 1, 1, 1, 2};
  EXPECT_EQ(IntervalRankError(sorted, 0.2, 1), 0);
  EXPECT_EQ(IntervalRankError(sorted, 0.8, 1), 0);
  EXPECT_NEAR(IntervalRankError(sorted, 0.9, 1), 0.1, 1e-15);
  EXPECT_NEAR(IntervalRankError(sorted, 0.1, 1), 0.1, 1e-15);
  EXPECT_NEAR(IntervalRankError(sorted, 0.5, 0.5), 0.3, 1e-15);
  EXPECT_NEAR(IntervalRankError(sorted, 0.5, 7), 0.5, 1e-15);
}

}  // namespace
}  // namespace retable::quantiles
