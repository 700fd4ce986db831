// Greedy choices against brute force, and the arithmetic that CPU and CUDA share.

#include "algorithms/shapley/greedy/quadrature_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "algorithms/shapley/greedy/options.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"

namespace retable::shapley {
namespace {

std::unique_ptr<PermutationSampler> Make(const std::string& name, const Parameters& p = {}) {
  return Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, p);
}

TEST(Pairs, TheFirstPlayerIsFoundFromTheBit) {
  for (int d : {2, 3, 5, 64, 65, 200, 1001}) {
    const std::int64_t step = d > 500 ? 37 : 1;
    for (std::int64_t bit = 0; bit < PairCount(d); bit += step) {
      const int i = FirstOfPair(bit, d);
      ASSERT_LE(PairIndex(i, i + 1, d), bit);
      ASSERT_LT(bit, PairIndex(i, i + 1, d) + d - 1 - i);
    }
  }
}

// 32 sums in ascending order, joined 16 apart, then 8, ...
double DotByDefinition(const std::vector<double>& a, const std::vector<double>& b) {
  double lane[kDotLanes] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    lane[i % kDotLanes] = AddProduct(lane[i % kDotLanes], a[i], b[i]);
  }
  for (int width = kDotLanes / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  }
  return lane[0];
}

TEST(LaneDot, IsTheDefinitionToTheLastBit) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (std::size_t n : {0, 1, 31, 32, 33, 64, 95, 1000}) {
    std::vector<double> a(n), b(n);
    for (auto* x : {&a, &b}) {
      for (double& v : *x) v = normal(random) * std::exp(8 * normal(random));
    }
    const double want = DotByDefinition(a, b);
    // Room beyond the end, zeros in one of the two.
    a.resize(n + kDotLanes, 7.5);
    b.resize(n + kDotLanes, 0);
    EXPECT_EQ(LaneDot(a.data(), b.data(), n), want) << n;
  }
}

TEST(KernelTables, AreTheKernel) {
  for (const auto kind : {KernelKind::kMallows, KernelKind::kKendall, KernelKind::kSpearman}) {
    for (int d : {1, 2, 9}) {
      const PermutationKernel kernel(kind, 4, d);
      const KernelTables tables = kernel.Tables();
      EXPECT_EQ(tables.by_ranks, kind == KernelKind::kSpearman);
      EXPECT_EQ(tables.words, kernel.words());
      const auto sample = Make("MC")->sample(12, d, 5);
      const auto codes = kernel.EncodeAll(sample);
      for (std::size_t i = 1; i < 12 && !tables.by_ranks; ++i) {
        const auto* a = codes.data();
        const auto* b = codes.data() + i * kernel.words();
        const auto t = static_cast<std::size_t>(Discordant(a, b, kernel.words()));
        EXPECT_EQ(tables.fixed[t], kernel.Fixed(a, b));
        EXPECT_EQ(tables.value[t], kernel.Value(a, b));
      }
    }
  }
}

constexpr std::size_t kCandidates = 6, kSteps = 9;
constexpr int kPlayers = 6;

// The first `step` orders of the sample and one candidate of that step.
PermutationSample With(const PermutationSample& sample, std::size_t step, std::size_t candidate,
                       std::uint64_t seed) {
  PermutationSample some = EmptySample(step + 1, kPlayers);
  std::copy_n(sample.orders.begin(), step * kPlayers, some.orders.begin());
  UniformOrder(seed, kGreedyStream, step * kCandidates + candidate,
               std::span(some.orders).subspan(step * kPlayers));
  return some;
}

// Every order chosen is, of its step's candidates, the one that leaves the least discrepancy: with
// equal weights for herding up to what it has chosen, with the best weights for quadrature.
TEST(Greedy, TakesTheBestOfItsCandidates) {
  for (const char* kernel_name : {"Mallows", "Kendall", "Spearman"}) {
    const PermutationKernel kernel(KernelByName(kernel_name), 4, kPlayers);
    for (const bool quadrature : {false, true}) {
      // Quadrature with kernels of low rank is about rounding alone once n is over the rank.
      if (quadrature && kernel.Mean() == 0) continue;
      if (quadrature && std::string(kernel_name) == "Spearman") continue;
      const auto sample = Make(quadrature ? "SBQ" : "Herding",
                               {{"kernel", std::string(kernel_name)},
                                {"candidates", static_cast<std::int64_t>(kCandidates)}})
                              ->sample(kSteps, kPlayers, 11);
      for (std::size_t step = 1; step < kSteps; ++step) {
        double least = HUGE_VAL, taken = HUGE_VAL;
        for (std::size_t c = 0; c < kCandidates; ++c) {
          PermutationSample some = With(sample, step, c, 11);
          if (quadrature) some.weights = OptimalWeights(some, kernel);
          const double discrepancy = Discrepancy(some, kernel);
          least = std::min(least, discrepancy);
          if (std::equal(some.order(step).begin(), some.order(step).end(),
                         sample.order(step).begin())) {
            taken = discrepancy;
          }
        }
        EXPECT_LE(taken, least * (1 + 1e-6) + 1e-6) << kernel_name << step;
      }
      if (!quadrature) continue;
      const auto best = OptimalWeights(sample, kernel);
      for (std::size_t i = 0; i < kSteps; ++i) EXPECT_NEAR(sample.weights[i], best[i], 1e-6);
    }
  }
}

}  // namespace
}  // namespace retable::shapley
