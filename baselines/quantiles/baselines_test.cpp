#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "algorithms/quantiles/niae.hpp"
#include "baselines/quantiles/datasketches.hpp"
#include "baselines/quantiles/kll_sketch.hpp"

namespace retable::quantiles {
namespace {

std::unique_ptr<QuantileSketch> MakeByName(const std::string& name, const Parameters& parameters) {
  return Registry<QuantileSketch>::Instance().Make(name, Device::kCpu, parameters);
}

std::vector<double> Draw(std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> out(n);
  for (double& x : out) x = normal(engine);
  return out;
}

double WorstRankError(const QuantileSketch& sketch, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (const double phi : NiaePhis(101)) {
    worst = std::max(worst, IntervalRankError(values, phi, sketch.quantile(phi)));
  }
  return worst;
}

TEST(Kll, IsExactWhileItHoldsEverything) {
  const auto values = Draw(40);
  const auto kll = MakeKllSketch(50, 1);
  const auto exact = MakeByName("Sorted", {});
  kll->update(std::span(values));
  exact->update(std::span(values));
  for (const double phi : NiaePhis(101)) EXPECT_EQ(kll->quantile(phi), exact->quantile(phi));
}

TEST(Kll, ErrorFallsWithM) {
  for (const std::size_t n : {1000u, 4096u, 100000u}) {
    double before = 1;
    for (const std::int64_t m : {10, 50, 500}) {
      double mean = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto values = Draw(n, seed);
        const auto kll = MakeKllSketch(m, seed);
        kll->update(std::span(values));
        mean += WorstRankError(*kll, values) / 20;
      }
      EXPECT_LT(mean, before);
      EXPECT_LT(mean, 8.0 / static_cast<double>(m)) << n << " " << m;
      before = mean;
    }
  }
}

TEST(Kll, IsUnbiased) {
  // The mean rank of the estimated median over many seeds is the median's.
  const auto values = Draw(3000);
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  double mean = 0;
  const int seeds = 2000;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto kll = MakeKllSketch(50, static_cast<std::uint64_t>(seed));
    kll->update(std::span(values));
    const double q = kll->quantile(0.5);
    mean +=
        static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), q) - sorted.begin()) /
        3000 / seeds;
  }
  EXPECT_NEAR(mean, 0.5, 0.01);
}

TEST(Kll, DoesNotDependOnChunksAndRepeatsUnderASeed) {
  const auto values = Draw(10000);
  const auto whole = MakeKllSketch(50, 7);
  const auto chunked = MakeKllSketch(50, 7);
  const auto other = MakeKllSketch(50, 8);
  whole->update(std::span(values));
  other->update(std::span(values));
  for (std::size_t i = 0; i < values.size(); i += 77) {
    chunked->update(std::span(values).subspan(i, std::min<std::size_t>(77, values.size() - i)));
  }
  const auto phis = NiaePhis(101);
  EXPECT_EQ(whole->quantiles(phis), chunked->quantiles(phis));
  EXPECT_NE(whole->quantiles(phis), other->quantiles(phis));
}

TEST(Kll, Merges) {
  for (const std::size_t right : {1u, 100u, 5000u, 60000u}) {
    const auto a = Draw(3000, 1);
    const auto b = Draw(right, 2);
    auto all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto left = MakeKllSketch(500, 1);
    const auto other = MakeKllSketch(500, 2);
    left->update(std::span(a));
    other->update(std::span(b));
    left->merge(*other);
    EXPECT_EQ(left->count(), all.size());
    EXPECT_LT(WorstRankError(*left, all), 0.03) << right;
  }
  EXPECT_THROW(MakeKllSketch(500, 1)->merge(*MakeKllSketch(50, 1)), std::invalid_argument);
  EXPECT_THROW(MakeKllSketch(500, 1)->merge(*MakeByName("Sorted", {})), std::invalid_argument);
}

TEST(Kll, TakesNastyStreams) {
  EXPECT_THROW(MakeKllSketch(5, 1), std::invalid_argument);
  const auto kll = MakeKllSketch(6, 1);
  EXPECT_THROW(kll->quantile(0.5), std::logic_error);
  kll->update(std::span<const double>(std::vector<double>(5000, 3.0)));
  EXPECT_EQ(kll->quantile(0.5), 3);
  const auto sorted_input = MakeKllSketch(50, 1);
  std::vector<float> up(1 << 16);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<float>(i);
  sorted_input->update(std::span<const float>(up));
  EXPECT_NEAR(sorted_input->quantile(0.5), 32768, 6000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  sorted_input->update(std::span<const double>(std::vector<double>{nan, nan}));
  EXPECT_EQ(sorted_input->count(), up.size());
}

double MeanNiae(std::int64_t m, KllRule rule) {
  double mean = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto values = Draw(20000, seed);
    const auto kll = MakeKllSketch(m, seed, rule);
    kll->update(std::span(values));
    std::sort(values.begin(), values.end());
    const auto cdf = dynamic_cast<const DistributionEstimate&>(*kll).cdf(
        NiaePlaces(values.front(), values.back()));
    mean += NiaeOfCdf(values, cdf) / 40;
  }
  return mean;
}

// A compactor that waits until the whole summary is full has more values to choose from, and
// capacities that shrink fast leave more to the top, which decides the error.
TEST(Kll, AsPublishedErrsMoreThanTheLazyOne) {
  for (const std::int64_t m : {50, 500}) {
    EXPECT_LT(2 * MeanNiae(m, kLazyKll), MeanNiae(m, kPaperKll)) << m;
  }
  EXPECT_THROW(MakeKllSketch(50, 1, {0.5, true}), std::invalid_argument);
  EXPECT_THROW(MakeKllSketch(50, 1, {1, true}), std::invalid_argument);
  EXPECT_THROW(MakeKllSketch(50, 1, kPaperKll)->merge(*MakeKllSketch(50, 1)),
               std::invalid_argument);
}

TEST(Kll, DistributionAndQuantilesAgree) {
  for (const KllRule rule : {kLazyKll, kPaperKll}) {
    const auto values = Draw(5000);
    const auto kll = MakeKllSketch(50, 3, rule);
    kll->update(std::span(values));
    const auto& estimate = dynamic_cast<const DistributionEstimate&>(*kll);
    for (const double phi : NiaePhis(101)) {
      const double q = kll->quantile(phi);
      const double through = estimate.cdf(std::span(&q, 1)).front();
      const double before = std::nextafter(q, -100.0);
      EXPECT_GE(through, phi);
      EXPECT_LE(estimate.cdf(std::span(&before, 1)).front(), phi);
    }
  }
}

TEST(Sorted, IsTheEmpiricalQuantile) {
  const auto sketch = MakeByName("Sorted", {});
  EXPECT_THROW(sketch->quantile(0.5), std::logic_error);
  sketch->update(std::span<const float>(std::vector<float>{3, 1, 2, std::nanf("")}));
  const auto other = sketch->empty_clone();
  other->update(std::span<const double>(std::vector<double>{0}));
  sketch->merge(*other);
  EXPECT_EQ(sketch->count(), 4u);
  EXPECT_EQ(sketch->quantile(0), 0);
  EXPECT_EQ(sketch->quantile(0.5), 2);
  EXPECT_EQ(sketch->quantile(1), 3);
  sketch->merge(*sketch);
  EXPECT_EQ(sketch->count(), 8u);
}

TEST(DdSketch, KeepsItsRelativeError) {
  for (const double alpha : {0.01, 0.1}) {
    std::vector<double> values = Draw(20000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = i % 10 == 0 ? 0 : (i % 3 == 0 ? -1 : 1) * std::exp(3 * values[i]);
    }
    const auto sketch = MakeByName("DDSketch", {{"alpha", alpha}});
    const auto half = sketch->empty_clone();
    half->update(std::span<const double>(values).first(7777));
    sketch->update(std::span<const double>(values).subspan(7777));
    sketch->merge(*half);
    EXPECT_EQ(sketch->count(), values.size());
    std::sort(values.begin(), values.end());
    for (const double phi : NiaePhis(101)) {
      const double rank = phi * static_cast<double>(values.size() - 1);
      const double exact = values[static_cast<std::size_t>(rank)];
      EXPECT_LE(std::abs(sketch->quantile(phi) - exact), alpha * std::abs(exact) * (1 + 1e-9));
    }
  }
}

TEST(DdSketch, KeepsItsErrorAtBothEndsOfDouble) {
  constexpr double kMost = std::numeric_limits<double>::max();
  for (double x = kMost; x > kMost / 1.1; x *= 0.999) {
    const auto sketch = MakeByName("DDSketch", {});
    sketch->update(std::vector<double>{x, -x});
    EXPECT_LE(std::abs(sketch->quantile(1) / x - 1), 0.01 * (1 + 1e-9));
    EXPECT_LE(std::abs(sketch->quantile(0) / -x - 1), 0.01 * (1 + 1e-9));
  }
  for (double x = std::numeric_limits<double>::min(); x < 3e-308; x *= 1.001) {
    const auto sketch = MakeByName("DDSketch", {});
    sketch->update(std::vector<double>{x});
    EXPECT_LE(std::abs(sketch->quantile(1) / x - 1), 0.01 * (1 + 1e-9));
  }
}

TEST(DdSketch, CollapsesTowardsZero) {
  const auto sketch = MakeByName("DDSketch", {{"bins", std::int64_t{10}}});
  std::vector<double> values;
  for (int i = -400; i <= 400; ++i) values.push_back(std::exp(0.1 * i));
  sketch->update(std::span<const double>(values));
  EXPECT_EQ(sketch->bytes(), 32u + 8 * 10);
  EXPECT_NEAR(sketch->quantile(1), values.back(), 0.01 * values.back());
  EXPECT_THROW(MakeByName("DDSketch", {{"alpha", 1.5}}), std::invalid_argument);
  EXPECT_THROW(sketch->merge(*MakeByName("DDSketch", {})), std::invalid_argument);
}

TEST(DataSketches, AnswerOrSayThatTheyAreAbsent) {
  for (const char* name :
       {"DataSketches-KLL", "DataSketches-classic", "DataSketches-REQ", "DataSketches-t-digest"}) {
    EXPECT_TRUE(IsDataSketches(name));
    if (!HasDataSketches()) {
      EXPECT_THROW(MakeByName(name, {}), std::runtime_error);
      continue;
    }
    auto values = Draw(50000);
    values[100] = std::numeric_limits<double>::quiet_NaN();
    const auto sketch = MakeByName(name, {});
    const auto half = sketch->empty_clone();
    half->update(std::span<const double>(values).first(20000));
    sketch->update(std::span<const double>(values).subspan(20000));
    sketch->merge(*half);
    EXPECT_EQ(sketch->count(), values.size() - 1);
    EXPECT_LT(sketch->bytes(), 20000u);
    values.erase(values.begin() + 100);
    EXPECT_LT(WorstRankError(*sketch, values), 0.05) << name;
  }
}

}  // namespace
}  // namespace retable::quantiles
