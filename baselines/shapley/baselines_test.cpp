// Estimators from coalitions against enumeration: exact where they must be, unbiased where they say
// so, and closer with a larger budget.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "algorithms/shapley/games/game_testing.hpp"
#include "baselines/shapley/binary_boosting.hpp"
#include "baselines/shapley/least_squares.hpp"

namespace retable::shapley {
namespace {

const std::vector<std::string> kAll = {
    "KernelSHAP",       "LeverageSHAP",       "MSR", "RegressionMSR", "OddSHAP", "SVARM",
    "SVARM-stratified", "Permutations-fitted"};
// Asks for no coalition twice.
bool AllDifferent(const std::string& name) {
  return name.rfind("SVARM", 0) != 0 && name != "Permutations-fitted";
}
const std::vector<std::string> kExactWhenComplete = {"KernelSHAP", "LeverageSHAP", "MSR",
                                                     "RegressionMSR", "OddSHAP"};

std::unique_ptr<ShapleyEstimator> Make(const std::string& name, const Parameters& p = {}) {
  return Registry<ShapleyEstimator>::Instance().Make(name, Device::kCpu, p);
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b, double error,
                const std::string& what = {}) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], error) << what << " " << i;
}

double MeanSquare(const Game& game, const ShapleyEstimator& estimator, std::int64_t budget,
                  const std::vector<double>& exact, int seeds = 10) {
  double sum = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto values = estimator.estimate(game, budget, static_cast<std::uint64_t>(seed)).values;
    for (std::size_t i = 0; i < exact.size(); ++i) sum += std::pow(values[i] - exact[i], 2);
  }
  return sum / seeds;
}

TEST(Design, PairsAreDifferentAndWithinTheBudget) {
  for (int d : {1, 2, 3, 4, 7, 10, 64, 65, 130}) {
    for (std::int64_t pairs : {0, 1, 2, 5, 60, 700}) {
      const auto design = TakePairs(
          d, pairs, [](int) { return 1.0; }, 3, 1);
      const std::size_t count = design.coalitions.count();
      EXPECT_LE(count, static_cast<std::size_t>(2 * pairs));
      EXPECT_EQ(design.weight.size(), count);
      std::set<std::vector<std::uint64_t>> seen;
      for (std::size_t k = 0; k < count; ++k) {
        const auto mask = design.coalitions.mask(k), other = design.coalitions.mask(k ^ 1);
        seen.insert({mask.begin(), mask.end()});
        EXPECT_EQ(design.coalitions.size(k) + design.coalitions.size(k ^ 1), d);
        for (std::size_t w = 0; w < mask.size(); ++w) EXPECT_EQ(mask[w] & other[w], 0u);
        EXPECT_GT(design.coalitions.size(k), 0);
      }
      EXPECT_EQ(seen.size(), count) << d << " " << pairs;
      const double all = d < 30 ? std::ldexp(1, d) - 2 : 1e300;
      EXPECT_EQ(design.complete, static_cast<double>(count) >= all);
      EXPECT_EQ(static_cast<double>(count), std::min(all, 2.0 * static_cast<double>(pairs)));
    }
  }
}

// Sums over taken coalitions by their weight have the sums over all as their mean.
TEST(Design, WeightedSumsAreUnbiased) {
  constexpr int kDim = 6, kSeeds = 4000;
  for (std::int64_t pairs : {3, 9, 20, 30}) {
    std::vector<double> sum(64, 0), squares(64, 0);
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto design = TakePairs(
          kDim, pairs, [](int s) { return 1.0 / s; }, static_cast<std::uint64_t>(seed), 1);
      for (std::size_t k = 0; k < design.weight.size(); ++k) {
        const auto mask = static_cast<std::size_t>(design.coalitions.mask(k)[0]);
        sum[mask] += design.weight[k];
        squares[mask] += design.weight[k] * design.weight[k];
      }
    }
    for (std::size_t mask = 1; mask < 63; ++mask) {
      const double mean = sum[mask] / kSeeds;
      const double error = std::sqrt(std::max(0.0, squares[mask] / kSeeds - mean * mean) / kSeeds);
      EXPECT_NEAR(mean, 1, 5 * error + 1e-9) << mask << " of " << pairs;
    }
  }
}

TEST(Coalitions, UniformCoalitionsAre) {
  Draws draws(3, 1);
  std::map<std::uint64_t, int> counts;
  std::uint64_t mask = 0;
  for (int k = 0; k < 20000; ++k) {
    UniformCoalition(draws, 6, 3, {&mask, 1});
    EXPECT_EQ(std::popcount(mask), 3);
    ++counts[mask];
  }
  EXPECT_EQ(counts.size(), 20u);
  for (const auto& [m, count] : counts) EXPECT_NEAR(count, 1000, 160) << m;
}

TEST(LeastSquares, KernelWeightsOverAllCoalitionsGiveShapleyValues) {
  for (int d : {2, 3, 5, 7}) {
    const auto game = RandomTermGame(d, d, 40, 8);
    const auto design = TakePairs(
        d, 1000, [](int) { return 1.0; }, 3, 1);
    const auto phi = NearestAdditive(design.coalitions, Values(*game, design.coalitions),
                                     design.KernelWeights(), EndValues(*game));
    ExpectNear(phi, ExactShapleyValues(*game), 1e-10);
  }
}

TEST(LeastSquares, TooFewCoalitionsStillKeepTheWorth) {
  const auto game = RandomTermGame(20, 3, 60, 8);
  const auto design = TakePairs(
      20, 4, [](int) { return 1.0; }, 3, 1);
  const Ends ends = EndValues(*game);
  const auto phi = NearestAdditive(design.coalitions, Values(*game, design.coalitions),
                                   std::vector<double>(8, 1.0), ends);
  EXPECT_NEAR(std::accumulate(phi.begin(), phi.end(), 0.0), ends.worth(), 1e-9);
  for (double x : phi) EXPECT_LT(std::abs(x), 100);
}

TEST(Boosting, ShapleyValuesAreTheFitsOwn) {
  for (int depth : {1, 3, 6}) {
    const auto game = RandomTermGame(9, 4, 60, 5);
    const auto design = TakePairs(
        9, 120, [](int) { return 1.0; }, 2, 1);
    const auto values = Values(*game, design.coalitions);
    std::vector<std::size_t> rows(values.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    BinaryBoostingOptions options;
    options.rounds = 30;
    options.depth = depth;
    const BoostedGame fit(design.coalitions, rows, values, options);
    const auto as_game = FunctionGame(9, [&](std::uint64_t mask) { return fit.value({&mask, 1}); });
    ExpectNear(fit.ShapleyValues(), ExactShapleyValues(*as_game), 1e-9);
    // The fit explains the coalitions it saw: nearly all of the variance once trees are deep.
    double rest = 0, whole = 0;
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      rest += std::pow(values[k] - fit.value(design.coalitions.mask(k)), 2);
      whole += std::pow(values[k] - mean, 2);
    }
    EXPECT_LT(rest, (depth == 6 ? 0.01 : 0.9) * whole);
  }
}

TEST(Estimators, AreThere) {
  for (const auto& name : kAll) {
    EXPECT_NE(Registry<ShapleyEstimator>::Instance().Find(name, Device::kCpu), nullptr) << name;
  }
}

TEST(Estimators, AllCoalitionsGiveTheExactValues) {
  for (const auto& name : kExactWhenComplete) {
    for (int d : {1, 2, 3, 4, 5, 6}) {
      const auto game = RandomTermGame(d, d, 40, 17);
      const std::int64_t budget =
          std::max<std::int64_t>(Make(name)->least_budget(d), std::int64_t{1} << (d - 1));
      const auto estimate = Make(name)->estimate(*game, budget, 3);
      ExpectNear(estimate.values, ExactShapleyValues(*game), 1e-8, name);
      EXPECT_EQ(estimate.evaluations, std::int64_t{1} << d) << name;
    }
  }
}

TEST(Estimators, OneToThreePlayersAreExact) {
  for (const auto& name : kAll) {
    if (name == "SVARM" || name == "Permutations-fitted") continue;  // drawn with replacement
    for (int d : {1, 2, 3}) {
      const auto game = RandomTermGame(d, d, 9, 4);
      const auto estimator = Make(name);
      const auto values = estimator->estimate(*game, estimator->least_budget(d), 1).values;
      ExpectNear(values, ExactShapleyValues(*game), 1e-9, name);
    }
  }
}

// Unbiased methods: the mean over many seeds is within five standard errors of enumeration.
void ExpectUnbiased(const std::string& name, const Parameters& parameters, int d,
                    std::int64_t budget, int seeds) {
  const auto game = RandomTermGame(d, d, 40, 3);
  const auto exact = ExactShapleyValues(*game);
  const auto estimator = Make(name, parameters);
  std::vector<double> sum(exact.size(), 0), squares(exact.size(), 0);
  for (int seed = 0; seed < seeds; ++seed) {
    const auto values = estimator->estimate(*game, budget, static_cast<std::uint64_t>(seed)).values;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      sum[i] += values[i];
      squares[i] += values[i] * values[i];
    }
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double mean = sum[i] / seeds;
    const double spread = std::max(0.0, squares[i] / seeds - mean * mean);
    EXPECT_GT(spread, 0) << name;  // or there would be nothing to test
    EXPECT_NEAR(mean, exact[i], 5 * std::sqrt(spread / seeds)) << name << d << i;
  }
}

TEST(Estimators, MeansOverSeedsAreTheExactValues) {
  for (int d : {4, 6}) {
    ExpectUnbiased("MSR", {}, d, d + 1, 2000);
    for (const char* name : {"SVARM", "SVARM-stratified"}) {
      ExpectUnbiased(name, {}, d, Make(name)->least_budget(d) + 7, 2000);
    }
  }
  // Independent orders, so that folds are: 40 of 720 orders, in pairs or not.
  for (const char* sampler : {"MC", "MC-antithetic"}) {
    const Parameters p = {{"sampler", std::string(sampler)}, {"rounds", std::int64_t{8}}};
    ExpectUnbiased("Permutations-fitted", p, 6, 140, 400);
  }
  ExpectUnbiased("Permutations-fitted",
                 {{"sampler", std::string("MC-antithetic")},
                  {"fit", std::string("odd")},
                  {"rounds", std::int64_t{8}}},
                 6, 280, 300);
  ExpectUnbiased("Permutations-fitted",
                 {{"sampler", std::string("MC")},
                  {"fit", std::string("pairs")},
                  {"coalitions_per_term", std::int64_t{4}},
                  {"rounds", std::int64_t{8}}},
                 6, 36, 1000);
  // Half and more of the coalitions, where sampling without replacement matters most.
  for (const char* proxy : {"trees", "additive"}) {
    const Parameters p = {
        {"proxy", std::string(proxy)}, {"rounds", std::int64_t{8}}, {"folds", std::int64_t{2}}};
    ExpectUnbiased("RegressionMSR", p, 6, 18, 1000);
    ExpectUnbiased("RegressionMSR", p, 6, 26, 1000);
  }
}

// Consistent methods: what is systematic in the error is small beside what is random.
TEST(Estimators, TheBiasOfRegressionsIsSmall) {
  const auto game = RandomTermGame(6, 6, 40, 3);
  const auto exact = ExactShapleyValues(*game);
  for (const char* name : {"KernelSHAP", "LeverageSHAP", "OddSHAP"}) {
    const auto estimator = Make(name);
    constexpr int kSeeds = 400;
    std::vector<double> sum(6, 0);
    double squares = 0, systematic = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto values = estimator->estimate(*game, 24, seed).values;
      for (std::size_t i = 0; i < 6; ++i) {
        sum[i] += (values[i] - exact[i]) / kSeeds;
        squares += std::pow(values[i] - exact[i], 2) / kSeeds;
      }
    }
    for (double x : sum) systematic += x * x;
    EXPECT_LT(systematic, 0.15 * squares) << name;
  }
}

TEST(Estimators, EveryMethodComesCloserWithABudget) {
  const auto game = RandomTermGame(12, 4, 150, 9);
  const auto exact = ExactShapleyValues(*game);
  for (const auto& name : kAll) {
    const auto estimator = Make(name);
    EXPECT_LT(MeanSquare(*game, *estimator, 1600, exact, 4),
              0.4 * MeanSquare(*game, *estimator, 160, exact, 4))
        << name;
  }
}

TEST(Estimators, BudgetsAndUniqueCoalitionsAreKept) {
  for (const auto& name : kAll) {
    const auto estimator = Make(name);
    for (int d : {1, 2, 3, 5, 9, 16}) {
      const auto game = RandomTermGame(d, 3, 20, 2);
      for (const std::int64_t budget :
           {estimator->least_budget(d), estimator->least_budget(d) + 1, std::int64_t{300}}) {
        const CountingGame counted(*game);
        const auto estimate = estimator->estimate(counted, budget, 7);
        EXPECT_EQ(estimate.evaluations, counted.evaluations()) << name << d;
        EXPECT_LE(estimate.evaluations, std::max<std::int64_t>(2 * budget, 2)) << name << d;
        if (AllDifferent(name)) {
          EXPECT_EQ(counted.unique(), estimate.evaluations) << name << d;
        }
        const auto again = estimator->estimate(*game, budget, 7);
        EXPECT_EQ(again.values, estimate.values) << name;
      }
      EXPECT_THROW(estimator->estimate(*game, estimator->least_budget(d) - 1, 1),
                   std::invalid_argument)
          << name;
    }
  }
}

TEST(Estimators, SumsOfPlayersAreExact) {
  const auto game = FunctionGame(12, [](std::uint64_t s) {
    double sum = 3;
    for (int i = 0; i < 12; ++i) sum += (s >> i) & 1 ? i + 1.0 : 0.0;
    return sum;
  });
  const auto exact = ExactShapleyValues(*game);
  const Parameters additive = {{"proxy", std::string("additive")}};
  ExpectNear(Make("KernelSHAP")->estimate(*game, 40, 1).values, exact, 1e-8);
  ExpectNear(Make("LeverageSHAP")->estimate(*game, 40, 1).values, exact, 1e-8);
  ExpectNear(Make("OddSHAP")->estimate(*game, 400, 1).values, exact, 1e-7);
  ExpectNear(Make("RegressionMSR", additive)->estimate(*game, 80, 1).values, exact, 1e-7);
}

// Odd interactions of three players are among the columns once trees have found them; even ones do
// not matter at all.
TEST(Estimators, OddRegressionRecoversASparseGame) {
  const auto chi = [](std::uint64_t s, std::uint64_t t) {
    return std::popcount(s & t) % 2 == 0 ? 1.0 : -1.0;
  };
  const auto game = FunctionGame(12, [&](std::uint64_t s) {
    return chi(s, 0b111) - 2 * chi(s, 0b1010100) + 3 * chi(s, 1) + chi(s, 0b110) +
           0.5 * chi(s, 0b111100);
  });
  ExpectNear(Make("OddSHAP")->estimate(*game, 300, 1).values, ExactShapleyValues(*game), 1e-6);
}

// Asked for are the coalitions that the sampler's orders pass, and no others.
TEST(Estimators, OddRegressionAsksAlongItsPermutations) {
  class Recording final : public Game {
   public:
    int dimension() const override { return 9; }
    void evaluate(std::span<const std::uint64_t> c, std::span<double> v) const override {
      asked.insert(c.begin(), c.end());
      for (std::size_t k = 0; k < v.size(); ++k) v[k] = std::popcount(c[k]);
    }
    mutable std::set<std::uint64_t> asked;
  } game;
  for (const char* name : {"MC-antithetic", "Foldover-descent"}) {
    const auto sample =
        Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, {})->sample(20, 9, 5);
    std::set<std::uint64_t> passed;
    for (std::size_t i = 0; i < sample.count(); ++i) {
      const auto prefixes = Prefixes(sample.order(i));
      passed.insert(prefixes.begin(), prefixes.end());
    }
    game.asked.clear();
    Make("OddSHAP", {{"sampler", std::string(name)}})->estimate(game, 100, 5);
    EXPECT_EQ(game.asked, passed) << name;
  }
}

// A control variate that fits nearly everything leaves next to no error, but not where orders come
// without their reverses.
TEST(Estimators, AnOddControlVariateTakesTheErrorAway) {
  const auto game = RandomTermGame(12, 3, 40, 9);
  const auto exact = ExactShapleyValues(*game);
  const Parameters odd = {{"fit", std::string("odd")}};
  const double plain = MeanSquare(*game, *Make("Foldover-descent"), 1600, exact, 4);
  EXPECT_LT(MeanSquare(*game, *Make("Permutations-fitted", odd), 1600, exact, 4), 0.1 * plain);
  const auto pairs = Make("Permutations-fitted", {{"fit", std::string("pairs")}});
  EXPECT_LT(MeanSquare(*game, *pairs, 1600, exact, 4), 0.1 * plain);
  for (int d : {1, 2, 3, 9}) {
    const auto small = RandomTermGame(d, 3, 20, 2);
    for (const std::int64_t budget : {d + std::int64_t{1}, d + std::int64_t{2}, std::int64_t{60}}) {
      const CountingGame counted(*small);
      const auto estimate = pairs->estimate(counted, budget, 7);
      EXPECT_EQ(estimate.evaluations, counted.evaluations()) << d;
      EXPECT_LE(estimate.evaluations, 2 * budget) << d;
    }
  }
  EXPECT_THROW(
      Make("Permutations-fitted", {{"fit", std::string("odd")}, {"sampler", std::string("MC")}})
          ->estimate(*game, 1600, 1),
      std::invalid_argument);
}

// On the coalitions of permutations: as close, no coalition twice, and fine for one to three
// players.
TEST(Estimators, OddRegressionAlongPermutations) {
  const auto game = RandomTermGame(12, 4, 150, 9);
  const auto exact = ExactShapleyValues(*game);
  const auto estimator = Make("OddSHAP", {{"sampler", std::string("Foldover-descent")}});
  EXPECT_LT(MeanSquare(*game, *estimator, 1600, exact, 4),
            0.4 * MeanSquare(*game, *estimator, 160, exact, 4));
  EXPECT_LT(MeanSquare(*game, *estimator, 1600, exact, 4),
            MeanSquare(*game, *Make("MC-antithetic"), 1600, exact, 4));
  const CountingGame counted(*game);
  const auto estimate = estimator->estimate(counted, 1600, 1);
  EXPECT_EQ(counted.unique(), estimate.evaluations);
  EXPECT_EQ(counted.evaluations(), estimate.evaluations);
  for (int d : {1, 2, 3}) {
    const auto small = RandomTermGame(d, d, 9, 4);
    EXPECT_NO_THROW(estimator->estimate(*small, d + 1, 1));
    // All 2 or 6 coalitions between the ends are passed sooner or later.
    ExpectNear(estimator->estimate(*small, 100, 1).values, ExactShapleyValues(*small), 1e-9);
  }
}

TEST(Estimators, ValuesThatAreNotFiniteAreRefused) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const auto broken = FunctionGame(4, [bad](std::uint64_t s) { return s == 7 ? bad : 1.0; });
    for (const auto& name : kAll) {
      EXPECT_THROW(Make(name)->estimate(*broken, 2000, 1), std::invalid_argument) << name;
    }
  }
}

TEST(Estimators, BadParametersAreNamed) {
  EXPECT_THROW(Make("RegressionMSR", {{"proxy", std::string("forest")}}), std::invalid_argument);
  EXPECT_THROW(Make("RegressionMSR", {{"folds", std::int64_t{1}}}), std::invalid_argument);
  EXPECT_THROW(Make("RegressionMSR", {{"depth", std::int64_t{0}}}), std::invalid_argument);
  EXPECT_THROW(Make("RegressionMSR", {{"rounds", std::int64_t{1} << 32 | 1}}),
               std::invalid_argument);
  EXPECT_THROW(Make("Permutations-fitted", {{"folds", std::int64_t{1}}}), std::invalid_argument);
  EXPECT_THROW(Make("Permutations-fitted", {{"sampler", std::string("Magic")}}), std::out_of_range);
  EXPECT_THROW(Make("OddSHAP", {{"coalitions_per_term", std::int64_t{0}}}), std::invalid_argument);
  EXPECT_THROW(Make("OddSHAP", {{"depth", std::int64_t{40}}}), std::invalid_argument);
  EXPECT_THROW(Make("Permutations-fitted", {{"fit", std::string("even")}}), std::invalid_argument);
}

// Their numbers of coalitions are beyond a double: values were equal shares, or not numbers.
TEST(Estimators, MorePlayersThanADoubleCountsCoalitionsOfAreRefused) {
  const auto game = [](int d) { return RandomTermGame(d, 2, 50, 4); };
  for (const auto& name : {"LeverageSHAP", "MSR", "RegressionMSR", "OddSHAP"}) {
    EXPECT_THROW(Make(name)->estimate(*game(1001), 1100, 1), std::invalid_argument) << name;
  }
  const Parameters orders = {{"sampler", std::string("MC")}};
  EXPECT_THROW(Make("OddSHAP", orders)->estimate(*game(1001), 1100, 1), std::invalid_argument);
  const auto most = game(1000);
  const auto exact = most->ShapleyValues();
  const double shares = Make("LeverageSHAP")->estimate(*most, 3000, 1).values[0];
  EXPECT_NEAR(shares, exact[0], 0.5);
  const auto more = game(1100);
  const auto values = Make("KernelSHAP")->estimate(*more, 1101, 1).values;
  const Ends ends = EndValues(*more);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), ends.worth(), 1e-6);
}

TEST(Estimators, MoreThanOneWordOfPlayers) {
  // v = 1 once players 3 and 70 are both in, and 2 for player 75.
  class Wide final : public Game {
   public:
    int dimension() const override { return 80; }
    void evaluate(std::span<const std::uint64_t> c, std::span<double> v) const override {
      for (std::size_t k = 0; k < v.size(); ++k) {
        v[k] = ((c[2 * k] >> 3) & 1) != 0 && ((c[2 * k + 1] >> 6) & 1) != 0 ? 1 : 0;
        v[k] += ((c[2 * k + 1] >> 11) & 1) != 0 ? 2 : 0;
      }
    }
  } game;
  for (const auto& name : kAll) {
    const Parameters quick =
        name == "RegressionMSR" || name == "OddSHAP" || name == "Permutations-fitted"
            ? Parameters{{"rounds", std::int64_t{20}}}
            : Parameters{};
    const std::int64_t budget = std::max<std::int64_t>(1000, Make(name)->least_budget(80));
    const auto values = Make(name, quick)->estimate(game, budget, 2).values;
    // MSR and SVARM are noisy here; the others are close.
    const double error = name == "MSR" || name.rfind("SVARM", 0) == 0 ? 0.6 : 0.2;
    EXPECT_NEAR(values[3], 0.5, error) << name;
    EXPECT_NEAR(values[70], 0.5, error) << name;
    EXPECT_NEAR(values[75], 2, error) << name;
  }
}

}  // namespace
}  // namespace retable::shapley
