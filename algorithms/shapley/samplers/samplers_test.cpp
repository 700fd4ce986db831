// Every registered sampler: rows are permutations, single orders are uniform, results repeat.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"
#include "base/parallel.hpp"

namespace retable::shapley {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& m : Registry<PermutationSampler>::Instance().Methods()) {
    if (m.device == Device::kCpu) names.push_back(m.name);
  }
  return names;
}

std::unique_ptr<PermutationSampler> Make(const std::string& name, const Parameters& p = {}) {
  return Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, p);
}

void ExpectPermutations(const PermutationSample& sample, std::size_t n, const std::string& what) {
  ASSERT_EQ(sample.count(), n) << what;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::int32_t> row(sample.order(i).begin(), sample.order(i).end());
    std::sort(row.begin(), row.end());
    for (std::size_t k = 0; k < row.size(); ++k) ASSERT_EQ(row[k], static_cast<int>(k)) << what;
  }
}

TEST(Samplers, ThePapersSixAreThere) {
  const auto names = Names();
  for (const char* name : {"MC", "MC-antithetic", "Herding", "SBQ", "Orthogonal", "Sobol"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(Samplers, RowsArePermutationsAndRepeatWithTheSeed) {
  for (const auto& name : Names()) {
    const auto sampler = Make(name);
    for (int d : {1, 2, 3, 4, 5, 10, 33, 64, 65}) {
      for (std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{21}}) {
        const auto sample = sampler->sample(n, d, 3);
        ExpectPermutations(sample, n, name + " d=" + std::to_string(d));
        EXPECT_EQ(sample.orders, sampler->sample(n, d, 3).orders) << name;
      }
    }
    EXPECT_NE(sampler->sample(8, 20, 1).orders, sampler->sample(8, 20, 2).orders) << name;
    EXPECT_EQ(sampler->sample(0, 5, 1).count(), 0u) << name;
    EXPECT_THROW(sampler->sample(3, 0, 1), std::invalid_argument) << name;
    for (const std::size_t n : {(std::size_t{1} << 38) + 1, (std::size_t{1} << 62) + 2}) {
      EXPECT_THROW(sampler->sample(n, 4, 1), std::invalid_argument) << name;
    }
  }
}

TEST(Samplers, WeightsSumToOne) {
  for (const char* kernel : {"Mallows", "Kendall", "Spearman"}) {
    for (int d : {1, 2, 4, 10}) {
      const auto sample = Make("SBQ", {{"kernel", std::string(kernel)}})->sample(40, d, 5);
      ASSERT_EQ(sample.weights.size(), 40u);
      double sum = 0;
      for (double w : sample.weights) {
        EXPECT_TRUE(std::isfinite(w));
        sum += w;
      }
      EXPECT_NEAR(sum, 1, 1e-9) << kernel << d;
    }
  }
}

std::size_t Rank(std::span<const std::int32_t> order) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t smaller = 0;
    for (std::size_t j = i + 1; j < order.size(); ++j) smaller += order[j] < order[i] ? 1 : 0;
    rank = rank * (order.size() - i) + smaller;
  }
  return rank;
}

// The order at each position of a sample is uniform over all d! (chi-squared over seeds): the
// estimate from it is unbiased whatever the game. Greedy choices too: candidates are uniform and
// the choice sees distances only, which a renaming of the players does not change.
TEST(Samplers, EveryPositionIsUniform) {
  for (const auto& name : Names()) {
    const auto sampler = Make(name);
    for (int d : {2, 3, 4, 5}) {
      const std::size_t cells = d == 2 ? 2 : d == 3 ? 6 : d == 4 ? 24 : 120;
      constexpr std::size_t kOrders = 5;  // cuts a block of pairs and of bases
#ifdef RETABLE_SANITIZED
      constexpr int kSeeds = 1500;
#else
      constexpr int kSeeds = 6000;
#endif
      std::vector<std::vector<double>> counts(kOrders, std::vector<double>(cells, 0));
      for (int seed = 0; seed < kSeeds; ++seed) {
        const auto sample = sampler->sample(kOrders, d, static_cast<std::uint64_t>(seed));
        for (std::size_t i = 0; i < kOrders; ++i) ++counts[i][Rank(sample.order(i))];
      }
      const double expected = static_cast<double>(kSeeds) / static_cast<double>(cells);
      const boost::math::chi_squared law(static_cast<double>(cells - 1));
      const double limit = boost::math::quantile(law, 1 - 1e-6);
      for (std::size_t i = 0; i < kOrders; ++i) {
        double chi2 = 0;
        for (double c : counts[i]) chi2 += (c - expected) * (c - expected) / expected;
        EXPECT_LT(chi2, limit) << name << " d=" << d << " order " << i;
      }
    }
  }
}

TEST(Samplers, AntitheticAndOrthogonalComeWithTheirReverses) {
  for (const char* name : {"MC-antithetic", "Orthogonal", "Foldover-descent"}) {
    const auto sample = Make(name)->sample(24, 7, 9);
    for (std::size_t i = 0; i < 24; i += 2) {
      const std::vector<std::int32_t> forward(sample.order(i).begin(), sample.order(i).end());
      std::vector<std::int32_t> back(sample.order(i + 1).begin(), sample.order(i + 1).end());
      std::reverse(back.begin(), back.end());
      EXPECT_EQ(forward, back) << name;
    }
  }
}

TEST(Samplers, ADescentCanBeEndedWhileItComparesItsOrders) {
  const auto sampler = Make("Foldover-descent", {{"sweeps", std::int64_t{0}}});
  int checks = 0;
  WithChecks([&] { ++checks; }, [&] { sampler->sample(200, 5, 1); });
  EXPECT_GE(checks, 100);  // base orders
}

TEST(Samplers, BadParametersAreNamed) {
  EXPECT_THROW(Make("Herding", {{"candidates", std::int64_t{0}}}), std::invalid_argument);
  EXPECT_THROW(Make("SBQ", {{"kernel", std::string("Cayley")}}), std::invalid_argument);
  EXPECT_THROW(Make("Herding", {{"lambda", -1.0}})->sample(2, 4, 1), std::invalid_argument);
  EXPECT_THROW(Make("MC", {{"lambda", 1.0}}), std::invalid_argument);
  for (const double lambda : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(Make("Foldover-descent", {{"lambda", lambda}}), std::invalid_argument);
  }
  EXPECT_THROW(Make("Sobol")->sample(1, 4000, 1), std::invalid_argument);
}

TEST(Sphere, TheHyperplaneMapKeepsProductsAndSumsToZero) {
  const std::vector<double> x = {0.3, -1.2, 0.7, 2.0}, y = {1.0, 0.1, -0.4, 0.9};
  std::vector<double> a(5), b(5);
  ToHyperplane(x.data(), a.data(), 5, 1);
  ToHyperplane(y.data(), b.data(), 5, 1);
  EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), 0, 1e-14);
  EXPECT_NEAR(std::inner_product(a.begin(), a.end(), b.begin(), 0.0),
              std::inner_product(x.begin(), x.end(), y.begin(), 0.0), 1e-13);
}

TEST(Sphere, AnglesGiveUnitVectorsWithTheSpheresMoments) {
  // On S^3 (m = 3): E x_i = 0 and E x_i^2 = 1/4, by the midpoint rule over the cube.
  constexpr int kSteps = 20;
  std::vector<double> first(4, 0), second(4, 0), x(4), u(3);
  const SphereFromCube on_sphere(3, kSteps * kSteps * kSteps);
  for (int i = 0; i < kSteps; ++i) {
    for (int j = 0; j < kSteps; ++j) {
      for (int k = 0; k < kSteps; ++k) {
        u = {(i + 0.5) / kSteps, (j + 0.5) / kSteps, (k + 0.5) / kSteps};
        on_sphere(u, x);
        double norm = 0;
        for (std::size_t c = 0; c < 4; ++c) {
          norm += x[c] * x[c];
          first[c] += x[c] / (kSteps * kSteps * kSteps);
          second[c] += x[c] * x[c] / (kSteps * kSteps * kSteps);
        }
        ASSERT_NEAR(norm, 1, 1e-12);
      }
    }
  }
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(first[c], 0, 1e-12);
    EXPECT_NEAR(second[c], 0.25, 5e-3);
  }
}

// Angles by series are the inverse's, also where u is next to 0 and 1.
TEST(Sphere, SeriesAreTheInverse) {
  for (const std::size_t angles : {12u, 13u, 62u, 254u, 1000u}) {
    const SphereFromCube by_series(angles, 1000), by_inverse(angles, 1);
    std::vector<double> u(angles, 0.5), x(angles + 1), y(angles + 1);
    for (std::size_t k = 0; k <= 33; ++k) {
      for (const bool high : {false, true}) {
        const double small = std::ldexp(1.0, -static_cast<int>(k) - 1) * (k < 33 ? 0.83 : 1);
        std::fill(u.begin(), u.end(), 0.5);
        for (const std::size_t j :
             {std::size_t{0}, angles - 12, angles - 4, angles - 3, angles - 2}) {
          u[j] = high ? 1 - std::max(small, 0x1p-33) : std::max(small, 0x1p-33);
          by_series(u, x);
          by_inverse(u, y);
          ASSERT_NEAR(x[j], y[j], 1e-11) << angles << " " << j << " " << u[j];
          u[j] = 0.5;
        }
      }
    }
  }
}

}  // namespace
}  // namespace retable::shapley
