#include "algorithms/shuffle/quality/statistics.hpp"

#include "algorithms/shuffle/shuffler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "algorithms/shuffle/philox/engine.hpp"
#include "algorithms/shuffle/quality/faulty_shufflers.hpp"

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

// Batteries of so many uniform orders that reject at a corrected level of `alpha`.
int RejectedOf(int batteries, std::uint32_t n, std::uint64_t orders, double alpha) {
  PhiloxEngine random(n, 0);
  int rejected = 0;
  for (int b = 0; b < batteries; ++b) {
    Battery battery(n);
    for (std::uint64_t s = 0; s < orders; ++s) {
      Permutation order = Identity(n);
      for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
      battery.Add(order);
    }
    rejected += BonferroniP(battery.Results()) < alpha;
  }
  return rejected;
}

// Sums of few orders have longer tails than a normal value: of 20 orders of 8 items ten times as
// many fair batteries as alpha says were rejected.
TEST(Battery, RejectsSoundShufflersAsOftenAsItSays) {
  constexpr double kAlpha = 0.001;
  constexpr int kBatteries = 1000 / kScale;
  constexpr double kTwice = 2 * kAlpha * kBatteries;
  const double most = kTwice + 3 * std::sqrt(kTwice);
  for (const std::uint32_t n : {3u, 5u, 8u, 16u}) {
    EXPECT_LT(RejectedOf(kBatteries, n, Battery(n).LeastSamples(kAlpha), kAlpha), most) << n;
  }
  EXPECT_GT(RejectedOf(2000, 8, 20, kAlpha), 10);
  EXPECT_GT(Battery(8).LeastSamples(1e-8), Battery(8).LeastSamples(1e-4));
  EXPECT_GT(Battery(8).LeastSamples(1e-4), Battery(64).LeastSamples(1e-4));
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

TEST(Battery, MergesToTheSameResults) {
  for (const std::uint32_t n : {5u, 30u}) {
    Battery whole(n), first(n), second(n);
    const auto shuffler = Registry<Shuffler>::Instance().Make("VarPhilox-mended", Device::kCpu, {});
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const auto wide = shuffler->permutation(n, seed);
      const Permutation order(wide.begin(), wide.end());
      whole.Add(order);
      (seed < 600 ? first : second).Add(order);
    }
    first.Merge(second);
    const auto expected = whole.Results(), got = first.Results();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t t = 0; t < got.size(); ++t) {
      EXPECT_EQ(got[t].test, expected[t].test);
      EXPECT_NEAR(got[t].p, expected[t].p, 1e-9) << got[t].test;
    }
    EXPECT_THROW(first.Merge(Battery(n + 1)), std::invalid_argument);
  }
}

// Over all 24 orders of 4 items: digits of range 4 and 2 give two bits and one, those of range 3 a
// bit each but for the value 2, which gives none. Each bit of the stream is balanced.
TEST(OrderBits, AreExactlyUniformOverAllOrders) {
  Permutation order{0, 1, 2, 3};
  std::vector<int> seen(256, 0);
  int bits = 0, orders = 0;
  do {
    // Eight times, so that whole bytes come out whatever the number of bits.
    OrderBits stream;
    for (int r = 0; r < 8; ++r) stream.Add(order);
    const auto bytes = stream.Take();
    bits += static_cast<int>(bytes.size());
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 24);
  EXPECT_EQ(bits, 24 * 3 + 16);  // bits an order: 3 always, one more for two thirds of them
  OrderBits stream;
  const auto shuffler = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto wide = shuffler->permutation(100, seed);
    stream.Add(Permutation(wide.begin(), wide.end()));
  }
  const auto bytes = stream.Take();
  EXPECT_GT(bytes.size(), 400u * 50);  // of log2(100!) = 525 bits an order
  for (const std::uint8_t byte : bytes) ++seen[byte];
  const double expected = static_cast<double>(bytes.size()) / 256;
  double statistic = 0;
  for (const int count : seen) statistic += (count - expected) * (count - expected) / expected;
  EXPECT_GT(ChiSquaredTail(statistic, 255), 1e-6);
  EXPECT_TRUE(stream.Take().empty());
}

}  // namespace
}  // namespace retable::shuffle
