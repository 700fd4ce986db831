#include "algorithms/shuffle/selection/sample.hpp"

#include <gtest/gtest.h>

#include <set>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/seed_testing.hpp"

namespace retable::shuffle {
namespace {

TEST(Sample, IsThePermutationsBeginning) {
  const auto whitened = Registry<Shuffler>::Instance().Make("VarPhilox-mended", Device::kCpu, {});
  for (const std::uint64_t n : {1, 2, 5, 255, 256, 257, 10000}) {
    const auto order = whitened->permutation(n, 9);
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n}) {
      EXPECT_EQ(SampleWithoutReplacement(n, k, 9),
                std::vector<std::uint64_t>(order.begin(),
                                           order.begin() + static_cast<std::ptrdiff_t>(k)));
    }
  }
  EXPECT_TRUE(SampleWithoutReplacement(0, 0, 1).empty());
  EXPECT_THROW(SampleWithoutReplacement(3, 4, 1), std::invalid_argument);
}

TEST(Sample, TakesFewOfManyQuickly) {
  const auto sample = SampleWithoutReplacement(std::uint64_t{1} << 33, 1000, 4);
  EXPECT_EQ(sample.size(), 1000u);
  for (const std::uint64_t value : sample) EXPECT_LT(value, std::uint64_t{1} << 33);
}

// Distinct, in range, and spread evenly over 16 parts of the range and over the lowest four bits.
TEST(Sample, OfHugeRangesIsDistinctAndEven) {
  const std::uint64_t seed = FreshSeed();
  for (const int bits : {31, 32, 53, 62, 63}) {
    for (const int difference : {-1, 0, 1}) {
      const std::uint64_t n = (std::uint64_t{1} << bits) + static_cast<std::uint64_t>(difference);
      if (n > kMaxBijection) continue;
      const std::uint64_t k = 1600;
      const auto sample = SampleWithoutReplacement(n, k, seed + n);
      EXPECT_EQ(std::set<std::uint64_t>(sample.begin(), sample.end()).size(), k) << n;
      std::vector<std::uint64_t> high(16, 0), low(16, 0);
      for (const std::uint64_t value : sample) {
        ASSERT_LT(value, n);
        ++high[value / (n / 16 + 1)];
        ++low[value % 16];
      }
      EXPECT_GT(ChiSquaredTail(ChiSquared(high), 15), 1e-9) << n;
      EXPECT_GT(ChiSquaredTail(ChiSquared(low), 15), 1e-9) << n;
    }
  }
  EXPECT_THROW(SampleWithoutReplacement(kMaxBijection + 1, 3, 1), std::invalid_argument);
  EXPECT_THROW(SampleWithoutReplacement(~std::uint64_t{0}, 3, 1), std::invalid_argument);
  EXPECT_THROW(SampleWithoutReplacement(kMaxBijection, kMaxBijection, 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle
