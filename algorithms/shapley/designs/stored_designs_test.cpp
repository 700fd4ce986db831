#include "algorithms/shapley/designs/stored_designs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"

namespace retable::shapley {
namespace {

struct Size {
  std::size_t n;
  int d;
};
constexpr Size kSizes[] = {{100, 10}, {1000, 10}, {100, 50}, {1000, 50}, {100, 200}, {1000, 200}};

std::unique_ptr<PermutationSampler> Make(const std::string& name) {
  return Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, {});
}

TEST(StoredDesigns, ArePermutationsAndBeatTheirStart) {
  for (const Size& size : kSizes) {
    const auto base = StoredDesign(size.n, size.d);
    ASSERT_EQ(base.size(), size.n / 2 * static_cast<std::size_t>(size.d));
    const auto sample = Make("Foldover-descent")->sample(size.n, size.d, 3);
    for (std::size_t i = 0; i < size.n; ++i) {
      std::vector<std::int32_t> row(sample.order(i).begin(), sample.order(i).end());
      std::sort(row.begin(), row.end());
      for (int k = 0; k < size.d; ++k) ASSERT_EQ(row[static_cast<std::size_t>(k)], k);
    }
    const PermutationKernel kernel(KernelKind::kMallows, 4, size.d);
    const double stored = Discrepancy(sample, kernel);
    EXPECT_LT(stored, Discrepancy(Make("Orthogonal")->sample(size.n, size.d, 3), kernel));
    // A relabelling changes no distance.
    EXPECT_NEAR(Discrepancy(Make("Foldover-descent")->sample(size.n, size.d, 4), kernel), stored,
                1e-9);
  }
  EXPECT_TRUE(StoredDesign(7, 7).empty());
}

// Of a stored design, too, every order is uniform: the first player of each is each player equally
// often, and so is the last.
TEST(StoredDesigns, AreRelabelledUniformly) {
  const auto sampler = Make("Foldover-descent");
  const Size& size = kSizes[0];
  constexpr int kSeeds = 20000;
  const auto players = static_cast<std::size_t>(size.d);
  std::vector<double> counts(players * players, 0);  // of pairs (first, last) of the third order
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto sample = sampler->sample(size.n, size.d, static_cast<std::uint64_t>(seed));
    const auto order = sample.order(std::min<std::size_t>(2, size.n - 1));
    ++counts[static_cast<std::size_t>(order.front()) * players +
             static_cast<std::size_t>(order.back())];
  }
  const double pairs = static_cast<double>(players * (players - 1));
  const double expected = kSeeds / pairs;
  double chi2 = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (k / players == k % players) {
      EXPECT_EQ(counts[k], 0);
    } else {
      chi2 += std::pow(counts[k] - expected, 2) / expected;
    }
  }
  // Five standard deviations above the mean of chi-squared.
  EXPECT_LT(chi2, pairs - 1 + 5 * std::sqrt(2 * pairs));
}

}  // namespace
}  // namespace retable::shapley
