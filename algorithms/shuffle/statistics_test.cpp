#include "algorithms/shuffle/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "algorithms/shuffle/known_bad.hpp"

namespace retable::shuffle {
namespace {

#ifdef RETABLE_SANITIZED
constexpr int kScale = 4;
#else
constexpr int kScale = 1;
#endif

Permutation Identity(std::uint32_t n) {
  Permutation order(n);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Exact mean and variance over all n! orders, against the formulas.
TEST(Statistics, NullMomentsMatchAllOrders) {
  for (std::uint32_t n = 2; n <= 6; ++n) {
    Permutation order = Identity(n);
    const Permutation identity = order;
    Battery battery(n);
    double count = 0, kernel = 0, square = 0;
    std::map<std::uint64_t, int> ranks;
    do {
      ++count;
      ++ranks[PermutationRank(order)];
      const double k = MallowsKernel(identity, order, 5);
      kernel += k;
      square += k * k;
      battery.Add(order);
      // Brute force of the counted quantities.
      std::uint64_t inversions = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        for (std::uint32_t j = i + 1; j < n; ++j) inversions += order[i] > order[j];
      }
      const auto code = LehmerCode(order);
      EXPECT_EQ(Inversions(order), inversions);
      EXPECT_EQ(std::accumulate(code.begin(), code.end(), std::uint64_t{0}), inversions);
      EXPECT_EQ(IsOdd(order), inversions % 2 == 1);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(ranks.size(), static_cast<std::size_t>(count));
    EXPECT_NEAR(MallowsMean(n, 5), kernel / count, 1e-12);
    EXPECT_NEAR(MallowsVariance(n, 5), square / count - kernel * kernel / count / count, 1e-12);
    for (const auto& result : battery.Results()) {
      if (result.test.rfind("mmd", 0) == 0)
        continue;  // neighbours in this list are no independent pairs
      EXPECT_NEAR(result.statistic, 0, 1e-9) << result.test << " n=" << n;
    }
  }
}

TEST(Statistics, DiscordantIsSymmetricAndZeroOnItself) {
  const Permutation a = {3, 1, 4, 0, 2}, b = {0, 2, 1, 4, 3};
  EXPECT_EQ(Discordant(a, b), Discordant(b, a));
  EXPECT_EQ(Discordant(a, a), 0u);
  const Permutation identity = Identity(5);
  EXPECT_EQ(Discordant(identity, a), Inversions(a));
}

TEST(Statistics, ThresholdsFollowThePaper) {
  EXPECT_NEAR(HoeffdingThreshold(100000, 0.05), std::sqrt(std::log(40.0) / 1e5), 1e-15);
  EXPECT_NEAR(ChiSquaredThreshold(0.05, 119), 145.46, 0.01);
  EXPECT_NEAR(ChiSquaredTail(145.461, 119), 0.05, 1e-4);
  const double variance = MallowsVariance(5, 5);
  EXPECT_NEAR(NormalThreshold(1000, variance, 0.05), 1.95996 * std::sqrt(2 * variance / 1000),
              1e-6);
  const double values[] = {0.5, 0.25};
  EXPECT_NEAR(MmdSquared(values, 0.3), 0.075, 1e-15);
  EXPECT_THROW(MmdSquared({}, 0.3), std::invalid_argument);
  EXPECT_THROW(Battery(1), std::invalid_argument);
}

double WorstP(const OrderSource& source, std::uint32_t n, int samples, std::uint64_t seed) {
  Battery battery(n);
  for (int s = 0; s < samples; ++s)
    battery.Add(source.draw(n, seed + static_cast<std::uint64_t>(s)));
  return BonferroniP(battery.Results());
}

// Every known fault is seen at some size, and nothing is held against the sound ones.
TEST(Statistics, BatteryTellsSoundFromFaulty) {
  for (const auto& source : OrderSources()) {
    double worst = 1;
    for (const std::uint32_t n : {5u, 64u, 200u}) {
      worst = std::min(worst, WorstP(source, n, (n == 5 ? 60000 : 3000) / kScale, 12345));
    }
    if (source.fault.empty()) {
      EXPECT_GT(worst, 1e-5) << source.name;
    } else {
      EXPECT_LT(worst, 1e-5) << source.name << ": " << source.fault;
    }
  }
}

}  // namespace
}  // namespace retable::shuffle
