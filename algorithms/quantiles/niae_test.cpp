#include "algorithms/quantiles/niae.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/quantiles/estimators/legendre_series.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"

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

// The largest errors in tables 2 and 3 of the work are those of a pixel of MNIST that is bright in
// one of 70,000 images: 0.5 - 1 / 70000 of the Fourier series says so. The quantile form would give
// 0.191 and 0.418.
TEST(NiaeOfCdf, IsWhatTheWorkPrintsOfItsHardestColumn) {
  std::vector<double> column(70000, 0.0);
  column.back() = 1;
  for (const auto& [l, legendre] :
       {std::pair<std::int64_t, double>{5, 0.163962}, {10, 0.120809}, {15, 0.100216}}) {
    for (const auto& [name, printed] :
         {std::pair<const char*, double>{"Legendre-central", legendre}, {"Fourier", 0.499986}}) {
      const auto sketch = Registry<QuantileSketch>::Instance().Make(name, Device::kCpu, {{"l", l}});
      for (int pass = 0; pass < sketch->passes(); ++pass) {
        sketch->begin_pass(pass);
        sketch->update(std::span<const double>(column));
      }
      const auto cdf = dynamic_cast<const DistributionEstimate&>(*sketch).cdf(NiaePlaces(0, 1));
      EXPECT_NEAR(NiaeOfCdf(column, cdf), printed, 6e-7) << name << " l=" << l;
    }
  }
}

// The series' domain is [-1, 1], the data lie within it by a margin: their first value has mass
// before it. Integrating from the data instead of the domain made this 0.30.
TEST(NiaeOfCdf, OfAChebyshevSeriesIntegratesItsWholeDomain) {
  std::vector<double> column(1000, 0.0);
  column.back() = 1;
  const auto sketch = Registry<QuantileSketch>::Instance().Make("Chebyshev", Device::kCpu,
                                                                {{"l", std::int64_t{15}}});
  for (int pass = 0; pass < 2; ++pass) {
    sketch->begin_pass(pass);
    sketch->update(std::span<const double>(column));
  }
  const auto cdf = dynamic_cast<const DistributionEstimate&>(*sketch).cdf(NiaePlaces(0, 1));
  EXPECT_GT(cdf.front(), 0.1);
  EXPECT_LT(NiaeOfCdf(column, cdf), 0.1);
}

// Table 5: the Legendre series of N(1000, 1), by exact moments over a range that fits its three
// rows at once. Ten thousand million draws, not the thousand million said, would span such a range.
TEST(NiaeOfCdf, IsWhatTheWorkPrintsOfANormalStream) {
  constexpr double kLow = -6.32185;
  constexpr double kHigh = 6.49701;
  constexpr int kSteps = 20000;
  std::array<double, kMaxOrder + 1> mu{};
  for (int i = 0; i < kSteps; ++i) {
    const double t = -1 + (2 * i + 1.0) / kSteps;
    const double x = 0.5 * (kLow + kHigh) + 0.5 * (kHigh - kLow) * t;
    const double mass = std::exp(-0.5 * x * x);
    for (unsigned n = 0; n <= kMaxOrder; ++n) mu[n] += mass * std::legendre(n, t);
  }
  const double total = mu[0];
  for (double& m : mu) m /= total;
  for (const auto& [l, printed] :
       {std::pair{5, 0.042877}, std::pair{10, 0.005369}, std::pair{15, 0.000997}}) {
    const LegendreSeries series(mu, l);
    double sum = 0;
    for (const double x : NiaePlaces(kLow, kHigh)) {
      const double t = (2 * x - kLow - kHigh) / (kHigh - kLow);
      sum += std::abs(series.CdfAndDensity(t).first - 0.5 * std::erfc(-x / std::sqrt(2.0)));
    }
    EXPECT_NEAR(sum / static_cast<double>(kNiaePoints), printed, 5e-6) << "l=" << l;
  }
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
