// Games, exact values and every estimator against enumeration.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/games/game_testing.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {
namespace {

std::unique_ptr<ShapleyEstimator> Make(const std::string& name) {
  return Registry<ShapleyEstimator>::Instance().Make(name, Device::kCpu, {});
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& m : Registry<ShapleyEstimator>::Instance().Methods()) names.push_back(m.name);
  return names;
}

double Total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double ValueOf(const Game& game, std::uint64_t mask) {
  double v = 0;
  game.evaluate({&mask, 1}, {&v, 1});
  return v;
}

std::unique_ptr<Game> Majority(int d) {
  return FunctionGame(d, [d](std::uint64_t s) { return 2 * std::popcount(s) > d ? 1.0 : 0.0; });
}
std::unique_ptr<Game> Sum(int d) {
  return FunctionGame(d, [d](std::uint64_t s) {
    double sum = 3;
    for (int i = 0; i < d; ++i) sum += (s >> i) & 1 ? i + 1.0 : 0.0;
    return sum;
  });
}
std::unique_ptr<Game> Product(int d) {
  return FunctionGame(d, [d](std::uint64_t s) {
    double product = 1;
    for (int i = 0; i < d; ++i) product *= (s >> i) & 1 ? 1.0 + 0.3 * i : 0.8;
    return product;
  });
}

// A sum that refuses to be asked for nothing, as a function over rows may.
class NeverIdle final : public Game {
 public:
  int dimension() const override { return 3; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    if (coalitions.empty()) throw std::invalid_argument("asked for no coalitions");
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = std::popcount(coalitions[k]);
  }
};

// Equation 2 over all d! orders.
std::vector<double> ByAllOrders(const Game& game) {
  PermutationSample sample = EmptySample(0, game.dimension());
  std::vector<std::int32_t> order(static_cast<std::size_t>(game.dimension()));
  std::iota(order.begin(), order.end(), 0);
  do sample.orders.insert(sample.orders.end(), order.begin(), order.end());
  while (std::next_permutation(order.begin(), order.end()));
  return EstimateFromPermutations(game, sample).values;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b, double error) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], error) << i;
}

TEST(Games, ExactValuesAgreeWithAllOrders) {
  for (int d : {1, 2, 3, 6}) {
    for (const auto& game : {Majority(d), Sum(d), Product(d)}) {
      ExpectNear(ExactShapleyValues(*game), ByAllOrders(*game), 1e-10);
    }
    const auto random = RandomTermGame(d, 4, 20, 5);
    ExpectNear(ExactShapleyValues(*random), ByAllOrders(*random), 1e-10);
  }
}

TEST(Games, TermsHaveTheirClosedForm) {
  for (int d : {1, 2, 5, 10, 14}) {
    const auto game = RandomTermGame(d, 5, 60, 11);
    ExpectNear(game->ShapleyValues(), ExactShapleyValues(*game), 1e-10);
    const auto table = TabulatedGame(*game);
    for (std::uint64_t mask = 0; mask < (std::uint64_t{1} << d); mask += 3) {
      EXPECT_EQ(ValueOf(*table, mask), ValueOf(*game, mask));
    }
  }
}

// A walk is d + 1 evaluations, whatever the game does to be quicker.
TEST(Games, WalksAreEvaluations) {
  for (int d : {1, 2, 9, 63, 64, 65, 107, 200}) {
    const auto terms = RandomTermGame(d, 6, 80, 21);
    const auto table = TabulatedGame(*RandomTermGame(std::min(d, 12), 4, 30, 2));
    const Game* const games[] = {terms.get(), table.get()};
    for (const Game* game : games) {
      std::vector<std::int32_t> order(static_cast<std::size_t>(game->dimension()));
      UniformOrder(5, 0, 0, order);
      const CountingGame counted(*game);
      std::vector<double> walked(order.size() + 1), evaluated(order.size() + 1);
      counted.walk(order, walked);
      counted.evaluate(Prefixes(order), evaluated);
      ExpectNear(walked, evaluated, 1e-12);
      EXPECT_EQ(counted.evaluations(), 2 * static_cast<std::int64_t>(order.size() + 1));
      EXPECT_EQ(counted.unique(), static_cast<std::int64_t>(order.size() + 1));
    }
  }
}

TEST(Games, SeveralWalksAreWalks) {
  const auto game = RandomTermGame(70, 6, 80, 3);
  const std::size_t d = 70, count = 3;
  std::vector<std::int32_t> orders(count * d);
  for (std::size_t i = 0; i < count; ++i)
    UniformOrder(6, 0, i, std::span(orders).subspan(i * d, d));
  const CountingGame counted(*game);
  std::vector<double> together(count * (d + 1)), one(d + 1);
  counted.walks(orders, together);
  for (std::size_t i = 0; i < count; ++i) {
    game->walk(std::span(orders).subspan(i * d, d), one);
    EXPECT_TRUE(std::equal(one.begin(), one.end(),
                           together.begin() + static_cast<std::ptrdiff_t>(i * (d + 1))));
  }
  EXPECT_EQ(counted.evaluations(), static_cast<std::int64_t>(count * (d + 1)));
  // The empty and the full coalition come in every walk; others meet by chance.
  EXPECT_LE(counted.unique(), static_cast<std::int64_t>(count * (d - 1) + 2));
  EXPECT_GT(counted.unique(), static_cast<std::int64_t>(count * (d - 1) - d));
}

// More permutations than are walked at a time.
TEST(Games, EstimatesTakeEveryPermutation) {
  const auto game = RandomTermGame(5, 4, 30, 4);
  const auto sample =
      Registry<PermutationSampler>::Instance().Make("MC", Device::kCpu, {})->sample(300, 5, 8);
  std::vector<double> want(5, 0.0), v(6);
  for (std::size_t i = 0; i < 300; ++i) {
    game->walk(sample.order(i), v);
    for (std::size_t k = 0; k < 5; ++k) {
      want[static_cast<std::size_t>(sample.order(i)[k])] += (v[k + 1] - v[k]) / 300;
    }
  }
  const auto estimate = EstimateFromPermutations(*game, sample);
  ExpectNear(estimate.values, want, 1e-12);
  EXPECT_EQ(estimate.evaluations, 1800);
}

// Players of a wide game that no conjunction names change nothing.
TEST(Games, WideGamesHaveTheSameClosedForm) {
  std::vector<Term> terms;
  const Philox4x32 random = Philox4x32::FromSeed(4);
  for (std::uint64_t t = 0; t < 30; ++t) {
    Term term{{}, {}, UniformDouble(random.Block(t).half(0))};
    for (int i = 0; i < 8; ++i) {
      const auto side = random.Block(t, 1).word[0] >> (2 * i) & 3;
      if (side < 2) (side == 0 ? term.with : term.without).push_back(i);
    }
    terms.push_back(term);
  }
  const TermGame small(8, terms);
  for (Term& term : terms) {
    for (auto* side : {&term.with, &term.without}) {
      for (auto& player : *side) player = 13 * player + 15;  // 15 .. 106
    }
  }
  const auto wide = TermGame(107, terms).ShapleyValues();
  const auto exact = ExactShapleyValues(small);
  for (std::size_t i = 0; i < 107; ++i) {
    EXPECT_NEAR(wide[i], i >= 15 && (i - 15) % 13 == 0 ? exact[(i - 15) / 13] : 0.0, 1e-12);
  }
}

TEST(Games, KnownAnswers) {
  ExpectNear(ExactShapleyValues(*Majority(5)), std::vector<double>(5, 0.2), 1e-12);
  ExpectNear(ExactShapleyValues(*Sum(4)), {1, 2, 3, 4}, 1e-12);
}

TEST(Games, BadInputIsRefused) {
  const std::vector<Term> beyond = {{{3}, {}, 1.0}}, both = {{{0}, {0}, 1.0}};
  EXPECT_THROW(TermGame(3, beyond), std::invalid_argument);
  EXPECT_THROW(TermGame(3, both), std::invalid_argument);
  EXPECT_THROW(TermGame(0, {}), std::invalid_argument);
  EXPECT_THROW(TabulatedGame(*Sum(21)), std::invalid_argument);
  EXPECT_THROW(FunctionGame(0, [](std::uint64_t) { return 0.0; }), std::invalid_argument);
}

// A further one is nobody's fault: whoever adds a method adds no name here.
TEST(Estimators, ThePapersNineAndOursAreThere) {
  const auto names = Names();
  for (const char* name : {"MC", "MC-antithetic", "Herding", "SBQ", "Orthogonal", "Sobol", "Owen",
                           "Owen-halved", "Stratified", "Foldover-descent"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(Estimators, SumsOfPlayersAreExactAndBudgetsAreKept) {
  for (const auto& name : Names()) {
    const auto estimator = Make(name);
    for (int d : {1, 2, 3, 8}) {
      const auto game = Sum(d);
      for (std::int64_t budget :
           {estimator->least_budget(d), estimator->least_budget(d) + 1, std::int64_t{400}}) {
        const auto estimate = estimator->estimate(*game, budget, 7);
        ExpectNear(estimate.values, ExactShapleyValues(*game), 1e-9);
        EXPECT_LE(estimate.evaluations, 2 * budget) << name << " d=" << d;
        EXPECT_GT(estimate.evaluations, 0) << name;
      }
      EXPECT_THROW(estimator->estimate(*game, estimator->least_budget(d) - 1, 1),
                   std::invalid_argument)
          << name;
    }
  }
}

TEST(Estimators, PermutationsAreEfficient) {
  const auto game = RandomTermGame(9, 5, 80, 2);
  const double worth = ValueOf(*game, 511) - ValueOf(*game, 0);
  for (const char* name : {"MC", "MC-antithetic", "Herding", "SBQ", "Orthogonal", "Sobol"}) {
    EXPECT_NEAR(Total(Make(name)->estimate(*game, 300, 4).values), worth, 1e-8) << name;
  }
}

// The mean over many seeds is within five standard errors of the exact values.
TEST(Estimators, MeansOverSeedsAreTheExactValues) {
  const auto third = RandomTermGame(6, 6, 40, 3);   // any order of interaction
  const auto second = RandomTermGame(6, 2, 40, 3);  // where the trapezoid rule is exact
  for (const char* name :
       {"MC", "MC-antithetic", "Orthogonal", "Sobol", "Foldover-descent", "Owen", "Owen-halved"}) {
    const bool owen = std::string(name).rfind("Owen", 0) == 0;
    const Game& game = owen ? *second : *third;
    const auto exact = ExactShapleyValues(game);
    constexpr int kSeeds = 2000;
    std::vector<double> sum(6, 0), squares(6, 0);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto values = Make(name)->estimate(game, 60, seed).values;
      for (std::size_t i = 0; i < 6; ++i) {
        sum[i] += values[i];
        squares[i] += values[i] * values[i];
      }
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const double mean = sum[i] / kSeeds;
      const double error = std::sqrt(std::max(0.0, squares[i] / kSeeds - mean * mean) / kSeeds);
      EXPECT_NEAR(mean, exact[i], 5 * error + 1e-12) << name << i;
    }
  }
}

// The weights of a design do not see the players' names, so they leave its mean alone.
TEST(Estimators, AWeightedDesignIsUnbiased) {
  const auto game = RandomTermGame(5, 5, 40, 3);
  const auto exact = ExactShapleyValues(*game);
  const auto estimator = Registry<ShapleyEstimator>::Instance().Make(
      "Foldover-descent", Device::kCpu, {{"weighted", true}});
  constexpr int kSeeds = 3000;
  std::vector<double> sum(5, 0), squares(5, 0);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto values = estimator->estimate(*game, 21, seed).values;  // 6 orders
    for (std::size_t i = 0; i < 5; ++i) {
      sum[i] += values[i];
      squares[i] += values[i] * values[i];
    }
  }
  for (std::size_t i = 0; i < 5; ++i) {
    const double mean = sum[i] / kSeeds;
    const double error = std::sqrt(std::max(0.0, squares[i] / kSeeds - mean * mean) / kSeeds);
    EXPECT_NEAR(mean, exact[i], 5 * error + 1e-12);
  }
}

TEST(Estimators, EveryMethodComesCloserWithABudget) {
  const auto game = RandomTermGame(8, 4, 60, 9);
  const auto exact = ExactShapleyValues(*game);
  const auto error = [&](const ShapleyEstimator& estimator, std::int64_t budget) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto values = estimator.estimate(*game, budget, seed).values;
      for (std::size_t i = 0; i < 8; ++i) sum += std::pow(values[i] - exact[i], 2);
    }
    return sum;
  };
  for (const auto& name : Names()) {
    const auto estimator = Make(name);
    EXPECT_LT(error(*estimator, 1600), 0.5 * error(*estimator, 160)) << name;
  }
}

TEST(Estimators, ValuesThatAreNotFiniteAreRefused) {
  const auto broken = FunctionGame(4, [](std::uint64_t s) { return s == 7 ? std::nan("") : 1.0; });
  for (const auto& name : Names()) {
    EXPECT_THROW(Make(name)->estimate(*broken, 2000, 1), std::invalid_argument) << name;
  }
}

TEST(Estimators, MoreThanOneWordOfPlayers) {
  // v = 1 once players 3 and 70 are both in.
  class Pair final : public Game {
   public:
    int dimension() const override { return 80; }
    void evaluate(std::span<const std::uint64_t> c, std::span<double> v) const override {
      for (std::size_t k = 0; k < v.size(); ++k) {
        v[k] = ((c[2 * k] >> 3) & 1) != 0 && ((c[2 * k + 1] >> 6) & 1) != 0 ? 1 : 0;
      }
    }
  } game;
  for (const auto& name : Names()) {
    const auto values = Make(name)->estimate(game, 13000, 2).values;
    EXPECT_NEAR(values[3], 0.5, 0.25) << name;
    EXPECT_NEAR(values[3] + values[70], 1, 0.25) << name;
    EXPECT_EQ(values[5], 0) << name;
  }
}

// Stratified has nothing to draw in its second stage where no stratum varies.
TEST(Estimators, NoGameIsAskedForNothing) {
  for (const std::string& name : Names()) {
    ExpectNear(Make(name)->estimate(NeverIdle(), 60, 1).values, {1, 1, 1}, 1e-6);
  }
}

TEST(Estimators, SquaresBeyondDoublesTakeNoDraws) {
  const auto estimator = Make("Stratified");
  for (const double scale : {1.0, 1e160}) {
    const auto game =
        FunctionGame(3, [scale](std::uint64_t s) { return s > 2 ? scale * double(s) : 0.0; });
    EXPECT_EQ(estimator->estimate(*game, 400, 1).evaluations, 800) << scale;
  }
}

}  // namespace
}  // namespace retable::shapley
