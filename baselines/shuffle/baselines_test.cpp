#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "algorithms/shuffle/shuffler.hpp"
#include "base/parallel.hpp"
#include "baselines/shuffle/island_bits.hpp"

namespace retable::shuffle {
namespace {

TEST(Baselines, PermuteEverySize) {
  int methods = 0;
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCpu || method.name == "Gather") continue;
    ++methods;
    const auto shuffler = method.make({});
    for (const std::uint64_t n : {0, 1, 2, 3, 5, 16, 17, 257, 65537, 300001}) {
      auto order = shuffler->permutation(n, n + 1);
      std::sort(order.begin(), order.end());
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(order[i], i) << method.name << " n=" << n;
    }
  }
  EXPECT_GE(methods, 10);
}

TEST(Baselines, DeterministicOnesRepeat) {
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    const auto shuffler = method.make({});
    if (method.device != Device::kCpu || !shuffler->deterministic()) continue;
    EXPECT_EQ(shuffler->permutation(200003, 4), shuffler->permutation(200003, 4)) << method.name;
  }
}

// All 24 orders of four items, equally often: chi-squared with 23 degrees of freedom.
TEST(Baselines, SmallOrdersAreUniform) {
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCpu || method.name == "Gather" || method.name == "LCG") continue;
    if (method.name == "VarPhilox")
      continue;  // its 4-bit domain is off; the statistics show how far
    const auto shuffler = method.make({});
    std::map<std::vector<std::uint64_t>, int> counts;
#ifdef RETABLE_SANITIZED
    constexpr int kSamples = 4800;
#else
    constexpr int kSamples = 24000;
#endif
    constexpr double kExpected = kSamples / 24.0;
    for (int s = 0; s < kSamples; ++s)
      ++counts[shuffler->permutation(4, static_cast<std::uint64_t>(s))];
    double chi2 = (24.0 - static_cast<double>(counts.size())) * kExpected;
    for (const auto& [order, count] : counts) {
      chi2 += (count - kExpected) * (count - kExpected) / kExpected;
    }
    EXPECT_LT(chi2, 62) << method.name;  // p = 2e-5
  }
}

// Several blocks, parts of the first pass, halves within them: one order on any number of threads.
TEST(RaoSandelius, OneOrderOnAnyNumberOfThreads) {
  const auto shuffler =
      Registry<Shuffler>::Instance().Make("RS", Device::kCpu, {{"bucket", std::int64_t{1000}}});
  constexpr std::uint64_t kItems = (std::uint64_t{1} << 19) + 3;
  const auto order = shuffler->permutation(kItems, 7);
  for (const int threads : {1, 2, 3}) {
    WithThreads(threads, [&] { EXPECT_EQ(shuffler->permutation(kItems, 7), order) << threads; });
  }
  EXPECT_THROW(
      Registry<Shuffler>::Instance().Make("RS", Device::kCpu, {{"bucket", std::int64_t{0}}}),
      std::invalid_argument);
}

TEST(Baselines, IslandBitsFollowTheFormula) {
  EXPECT_EQ(IslandKeyBits(1), 3);
  EXPECT_EQ(IslandKeyBits(std::uint64_t{1} << 20), 43);
  EXPECT_EQ(IslandKeyBits(std::uint64_t{1} << 26), 55);
  EXPECT_EQ(IslandKeyBits(std::uint64_t{1} << 30), 63);
}

}  // namespace
}  // namespace retable::shuffle
