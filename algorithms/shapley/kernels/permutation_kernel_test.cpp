// Kernels against brute force over all permutations, and the discrepancy against its definition.

#include "algorithms/shapley/kernels/permutation_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"

namespace retable::shapley {
namespace {

using Order = std::vector<std::int32_t>;

std::vector<Order> AllOrders(int d) {
  Order order(static_cast<std::size_t>(d));
  std::iota(order.begin(), order.end(), 0);
  std::vector<Order> all;
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

Order Ranks(std::span<const std::int32_t> order) {
  Order rank(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    rank[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k) + 1;
  }
  return rank;
}

std::int64_t BruteDiscordant(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const Order p = Ranks(a), q = Ranks(b);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = i + 1; j < p.size(); ++j) count += (p[i] < p[j]) != (q[i] < q[j]) ? 1 : 0;
  }
  return count;
}

double BruteKernel(KernelKind kind, double lambda, std::span<const std::int32_t> a,
                   std::span<const std::int32_t> b) {
  const int d = static_cast<int>(a.size());
  const auto pairs = static_cast<double>(d * (d - 1) / 2);
  const auto discordant = static_cast<double>(BruteDiscordant(a, b));
  if (kind == KernelKind::kSpearman) {
    const Order p = Ranks(a), q = Ranks(b);
    return std::inner_product(p.begin(), p.end(), q.begin(), 0.0);
  }
  if (pairs == 0) return 1;
  if (kind == KernelKind::kKendall) return (pairs - 2 * discordant) / pairs;
  return std::exp(-lambda * discordant / pairs);
}

constexpr KernelKind kKinds[] = {KernelKind::kMallows, KernelKind::kKendall, KernelKind::kSpearman};

TEST(Discordance, BitsAgreeWithComparisons) {
  for (int d : {1, 2, 3, 11, 12, 63, 64, 65, 127, 128, 129, 200}) {
    const auto players = static_cast<std::size_t>(d);
    Order a(players), b(players);
    std::vector<std::uint64_t> x(PairWords(d)), y(PairWords(d));
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      UniformOrder(seed, 0, 0, a);
      UniformOrder(seed, 0, 1, b);
      EncodePairs(a, x);
      EncodePairs(b, y);
      EXPECT_EQ(Discordant(x.data(), y.data(), x.size()), BruteDiscordant(a, b)) << d;
      std::int64_t plain = 0;
      for (std::size_t w = 0; w < x.size(); ++w) plain += std::popcount(x[w] ^ y[w]);
      EXPECT_EQ(plain, BruteDiscordant(a, b)) << d;
      std::reverse_copy(a.begin(), a.end(), b.begin());
      EncodePairs(b, y);
      EXPECT_EQ(Discordant(x.data(), y.data(), x.size()), PairCount(d)) << d;
    }
  }
}

TEST(Discordance, EveryPairHasItsOwnBit) {
  std::vector<char> seen(static_cast<std::size_t>(PairCount(9)), 0);
  for (int i = 0; i < 9; ++i) {
    for (int j = i + 1; j < 9; ++j) ++seen[static_cast<std::size_t>(PairIndex(i, j, 9))];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), PairCount(9));
}

TEST(Kernel, ValuesAgreeWithBruteForce) {
  for (const KernelKind kind : kKinds) {
    for (int d : {1, 2, 5, 17}) {
      const PermutationKernel kernel(kind, 4, d);
      std::vector<std::uint64_t> x(kernel.words()), y(kernel.words());
      Order a(static_cast<std::size_t>(d)), b(a);
      for (std::uint64_t i = 0; i < 20; ++i) {
        UniformOrder(1, 0, 2 * i, a);
        UniformOrder(1, 0, 2 * i + 1, b);
        kernel.Encode(a, x);
        kernel.Encode(b, y);
        EXPECT_NEAR(kernel.Value(x.data(), y.data()), BruteKernel(kind, 4, a, b), 1e-12);
        EXPECT_NEAR(kernel.Value(x.data(), x.data()), kernel.Self(), 1e-12);
        if (kind == KernelKind::kMallows) {
          EXPECT_NEAR(std::ldexp(static_cast<double>(kernel.Fixed(x.data(), y.data())), -40),
                      BruteKernel(kind, 4, a, b), 1e-12);
        }
      }
    }
  }
}

TEST(Kernel, MeansAgreeWithEnumeration) {
  for (const KernelKind kind : kKinds) {
    for (int d = 1; d <= 6; ++d) {
      for (double lambda : {0.0, 0.5, 4.0, 30.0}) {
        const PermutationKernel kernel(kind, lambda, d);
        const auto all = AllOrders(d);
        for (std::size_t reference : {std::size_t{0}, all.size() / 2}) {
          double sum = 0;
          for (const Order& order : all) sum += BruteKernel(kind, lambda, order, all[reference]);
          EXPECT_NEAR(kernel.Mean(), sum / static_cast<double>(all.size()), 1e-10) << d;
        }
      }
    }
  }
}

TEST(Kernel, RefusesTablesThatGrowWithTheSquareOfThePlayers) {
  EXPECT_THROW(PermutationKernel(KernelKind::kMallows, 4, 23171), std::invalid_argument);
  EXPECT_EQ(PermutationKernel(KernelKind::kKendall, 4, 23171).dimension(), 23171);
}

TEST(Kernel, MallowsMeanAgreesWithMonteCarloAtLargeD) {
  constexpr int kDraws = 20000;
  const PermutationKernel kernel(KernelKind::kMallows, 4, 50);
  Order order(50);
  std::vector<std::uint64_t> identity(kernel.words()), code(kernel.words());
  std::iota(order.begin(), order.end(), 0);
  kernel.Encode(order, identity);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    UniformOrder(8, 0, i, order);
    kernel.Encode(order, code);
    const double value = kernel.Value(identity.data(), code.data());
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_NEAR(mean, kernel.Mean(), 5 * error);
}

// D^2 = || (1/d!) sum K(s, .) - sum w K(t, .) ||^2 expanded over the whole group.
TEST(Discrepancy, AgreesWithTheDefinitionOverAllPermutations) {
  for (const KernelKind kind : kKinds) {
    for (int d : {1, 2, 3, 4}) {
      const auto all = AllOrders(d);
      PermutationSample sample = EmptySample(3, d);
      sample.weights = {0.5, 0.7, -0.2};
      for (std::size_t i = 0; i < 3; ++i) {
        const Order& order = all[(i * 7 + 1) % all.size()];
        std::copy(order.begin(), order.end(),
                  sample.orders.begin() + static_cast<std::ptrdiff_t>(i) * d);
      }
      // Signed measure over the group: uniform minus the sample.
      std::vector<double> measure(all.size(), 1.0 / static_cast<double>(all.size()));
      for (std::size_t i = 0; i < 3; ++i) measure[(i * 7 + 1) % all.size()] -= sample.weights[i];
      double squared = 0;
      for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = 0; b < all.size(); ++b) {
          squared += measure[a] * measure[b] * BruteKernel(kind, 4, all[a], all[b]);
        }
      }
      EXPECT_NEAR(Discrepancy(sample, PermutationKernel(kind, 4, d)),
                  std::sqrt(std::max(0.0, squared)), 1e-6)
          << d;
    }
  }
}

TEST(Discrepancy, AllPermutationsHaveNone) {
  const auto all = AllOrders(5);
  PermutationSample sample = EmptySample(0, 5);
  for (const Order& order : all)
    sample.orders.insert(sample.orders.end(), order.begin(), order.end());
  EXPECT_LT(Discrepancy(sample, PermutationKernel(KernelKind::kMallows, 4, 5)), 1e-7);
  EXPECT_THROW(Discrepancy(EmptySample(0, 5), PermutationKernel(KernelKind::kMallows, 4, 5)),
               std::invalid_argument);
}

// The chapter's order at d = 10, n = 100: optimised sets are below orthogonal below antithetic.
TEST(Discrepancy, OptimisedSetsAreBelowRandomOnes) {
  const PermutationKernel kernel(KernelKind::kMallows, 4, 10);
  const auto mean = [&](const char* name) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      sum += Discrepancy(Registry<PermutationSampler>::Instance()
                             .Make(name, Device::kCpu, {})
                             ->sample(100, 10, seed),
                         kernel);
    }
    return sum / 5;
  };
  EXPECT_LT(mean("Foldover-descent"), mean("SBQ"));
  EXPECT_LT(mean("SBQ"), mean("Herding"));
  EXPECT_LT(mean("Herding"), mean("Orthogonal"));
  EXPECT_LT(mean("Orthogonal"), mean("MC-antithetic"));
  EXPECT_LT(mean("Sobol"), mean("MC-antithetic"));
}

TEST(Discrepancy, OptimalWeightsAreOptimal) {
  for (int d : {1, 2, 6, 12}) {
    const PermutationKernel kernel(KernelKind::kMallows, 4, d);
    PermutationSample sample =
        Registry<PermutationSampler>::Instance().Make("MC", Device::kCpu, {})->sample(30, d, 3);
    const double equal = Discrepancy(sample, kernel);
    sample.weights = OptimalWeights(sample, kernel);
    EXPECT_NEAR(std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0), 1, 1e-9);
    const double best = Discrepancy(sample, kernel);
    EXPECT_LE(best, equal + 1e-7);
    for (std::size_t i = 0; i + 1 < 30; ++i) {  // any other weights of sum one are no better
      PermutationSample other = sample;
      other.weights[i] += 0.01;
      other.weights[i + 1] -= 0.01;
      EXPECT_GE(Discrepancy(other, kernel), best - 1e-6);
    }
  }
  EXPECT_TRUE(OptimalWeights(EmptySample(0, 3), {KernelKind::kMallows, 4, 3}).empty());
}

TEST(Kernel, BadArgumentsAreRefused) {
  EXPECT_THROW(KernelByName("cosine"), std::invalid_argument);
  EXPECT_THROW(PermutationKernel(KernelKind::kMallows, std::nan(""), 4), std::invalid_argument);
  EXPECT_THROW(PermutationKernel(KernelKind::kMallows, 4, 0), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shapley
