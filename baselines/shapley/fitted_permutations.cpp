//! @file
//! Permutations with a fitted control variate: the Shapley values of a fitted game, known exactly,
//! plus what the permutations say of the rest.
//!
//! Marginal contributions along a design are averaged as ever, but of v less a game f fitted to the
//! coalitions that the other folds' permutations pass through: phi = sum_k W_k phi(f_k) + sum of
//! w_p (marginals of v - f_k along p), with p in fold k and W_k the fold's weight. An additive game
//! is no control variate, permutations are exact for it; and an order with its reverse is exact for
//! games with v(S) = v(N - S), so where orders come with their reverses only the odd half matters.
//! Three fits: boosted trees on what the mean marginals leave over ("trees"); a sparse odd
//! regression (odd_regression.hpp; "odd", for orders with reverses); and the same on pairs of
//! coalitions taken at random, for which half of the budget goes ("pairs"): no folds then, and no
//! bias whatever the sampler. A pair of an order and the next stays in one fold. The weighted sum
//! over the whole design keeps its balance where the fits agree. Cost: a fit for each fold. Not in
//! the paper: Mitchell et al. 2022, equation 3, with the idea of Witter, Liu, Musco 2025.

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "baselines/shapley/least_squares.hpp"
#include "baselines/shapley/odd_regression.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kFoldStream = 14, kPairStream = 16;

// The values along every order of a sample, and the coalitions passed.
struct Walks {
  PermutationSample sample;
  Coalitions coalitions;       // d + 1 for each order
  std::vector<double> values;  // likewise

  std::size_t steps() const { return static_cast<std::size_t>(sample.dimension) + 1; }

  bool ComesWithReverses() const {
    bool all = sample.count() % 2 == 0;
    for (std::size_t i = 0; all && i < sample.count(); i += 2) {
      const auto order = sample.order(i), back = sample.order(i + 1);
      all = std::equal(order.begin(), order.end(), back.rbegin());
    }
    return all;
  }
};

Walks WalkAll(const Game& game, PermutationSample sample) {
  Walks walks{std::move(sample), Coalitions(game.dimension()), {}};
  for (std::size_t i = 0; i < walks.sample.count(); ++i) {
    walks.coalitions.Add(Prefixes(walks.sample.order(i)));
  }
  walks.values = Values(game, walks.coalitions);
  return walks;
}

// Adds the weighted marginals of order i, where `values` are those of all walks.
void AddMarginals(const Walks& walks, const std::vector<double>& values, std::size_t i,
                  std::vector<double>& phi) {
  const auto order = walks.sample.order(i);
  const double* v = values.data() + i * walks.steps();
  for (std::size_t k = 0; k < order.size(); ++k) {
    phi[static_cast<std::size_t>(order[k])] += walks.sample.weight(i) * (v[k + 1] - v[k]);
  }
}

enum class FitKind { kTrees, kOdd, kPairs };

FitKind FitByName(const std::string& name) {
  if (name == "trees") return FitKind::kTrees;
  if (name == "odd") return FitKind::kOdd;
  if (name == "pairs") return FitKind::kPairs;
  throw std::invalid_argument("no fit \"" + name + "\": trees, odd and pairs are known");
}

class FittedPermutations final : public ShapleyEstimator {
 public:
  FittedPermutations(std::unique_ptr<PermutationSampler> sampler, FitKind kind, std::int64_t folds,
                     std::int64_t per_term, const BinaryBoostingOptions& trees)
      : sampler_(std::move(sampler)),
        kind_(kind),
        folds_(static_cast<std::size_t>(folds)),
        per_term_(per_term),
        trees_(trees) {
    if (folds < 2) throw std::invalid_argument("folds: at least two are needed");
    if (per_term < 3) throw std::invalid_argument("coalitions_per_term: at least three");
    if (kind != FitKind::kTrees && trees.depth > 16) {
      throw std::invalid_argument("depth: at most 16 where fit is odd or pairs");
    }
  }

  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    if (kind_ == FitKind::kPairs) return ShapleyEstimator::budget_for(d, evaluations);
    return PermutationBudget(d, evaluations);
  }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    if (kind_ == FitKind::kPairs) return EstimateBesidePairs(game, budget, seed);
    const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
    const Walks walks = WalkAll(game, sampler_->sample(n, d, seed));
    ShapleyEstimate estimate{std::vector<double>(static_cast<std::size_t>(d), 0.0),
                             static_cast<std::int64_t>(walks.values.size())};
    // Few orders say nothing of interactions: no fit then.
    if (n < 4 * folds_ || d < 3) {
      for (std::size_t i = 0; i < n; ++i) AddMarginals(walks, walks.values, i, estimate.values);
      return estimate;
    }
    if (kind_ == FitKind::kOdd && !walks.ComesWithReverses()) {
      throw std::invalid_argument(
          "fit = odd needs a sampler whose orders come with their reverses: MC-antithetic, "
          "Orthogonal or Foldover-descent");
    }
    const auto fold = Folds(n, seed);
    for (std::size_t f = 0; f < folds_; ++f) AddFold(walks, fold, f, estimate.values);
    return estimate;
  }

 private:
  ShapleyEstimate EstimateBesidePairs(const Game& game, std::int64_t budget,
                                      std::uint64_t seed) const {
    const int d = game.dimension();
    const std::int64_t rounds = std::max<std::int64_t>(1, budget / 2 / (d + 1));
    const auto n = static_cast<std::size_t>(2 * rounds);
    const Walks walks = WalkAll(game, sampler_->sample(n, d, seed));
    ShapleyEstimate estimate{std::vector<double>(static_cast<std::size_t>(d), 0.0),
                             static_cast<std::int64_t>(walks.values.size())};
    const auto design = TakePairs(
        d, (2 * budget - estimate.evaluations) / 2, [](int) { return 1.0; }, seed, kPairStream);
    const auto values = Values(game, design.coalitions);
    estimate.evaluations += static_cast<std::int64_t>(values.size());
    const std::int64_t larger = static_cast<std::int64_t>(values.size()) / per_term_ - d;
    if (!design.complete && (d < 3 || larger <= 0)) {  // too few say nothing of interactions
      for (std::size_t i = 0; i < n; ++i) AddMarginals(walks, walks.values, i, estimate.values);
      return estimate;
    }
    const auto weights = design.KernelWeights();
    const Ends ends{walks.values.front(), walks.values[static_cast<std::size_t>(d)]};
    const auto additive = NearestAdditive(design.coalitions, values, weights, ends);
    if (design.complete) return {additive, estimate.evaluations};
    const OddGame fit = FitOddGame(design.coalitions, OddHalves(values), weights, additive,
                                   ends.worth(), static_cast<std::size_t>(larger), trees_);
    Correct(walks, std::vector<std::size_t>(n, 0), 0, fit, estimate.values);
    return estimate;
  }

  // By pairs of an order and the next.
  std::vector<std::size_t> Folds(std::size_t n, std::uint64_t seed) const {
    std::vector<std::size_t> of_pair((n + 1) / 2), fold(n);
    Draws draws(seed, kFoldStream);
    for (std::size_t p = 0; p < of_pair.size(); ++p) {
      of_pair[p] = p % folds_;
      std::swap(of_pair[p], of_pair[draws.Below(p + 1)]);
    }
    for (std::size_t i = 0; i < n; ++i) fold[i] = of_pair[i / 2];
    return fold;
  }

  void AddFold(const Walks& walks, const std::vector<std::size_t>& fold, std::size_t f,
               std::vector<double>& phi) const {
    std::vector<double> additive(phi.size(), 0.0);
    double others = 0;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] == f) continue;
      others += walks.sample.weight(i);
      AddMarginals(walks, walks.values, i, additive);
    }
    for (double& x : additive) x /= others;
    if (kind_ == FitKind::kTrees) {
      Correct(walks, fold, f, FitTrees(walks, fold, f, additive), phi);
    } else {
      Correct(walks, fold, f, FitOdd(walks, fold, f, additive), phi);
    }
  }

  BoostedGame FitTrees(const Walks& walks, const std::vector<std::size_t>& fold, std::size_t f,
                       const std::vector<double>& additive) const {
    const std::size_t steps = walks.steps();
    auto rest = Rest(walks, additive);
    if (walks.ComesWithReverses()) rest = OddHalf(walks, rest);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] == f) continue;
      for (std::size_t k = 1; k + 1 < steps; ++k) rows.push_back(i * steps + k);
    }
    return {walks.coalitions, rows, rest, trees_};
  }

  // An order passes one coalition of every size: 1 / (s (d - s)) is the Shapley kernel over the
  // chance of one.
  OddGame FitOdd(const Walks& walks, const std::vector<std::size_t>& fold, std::size_t f,
                 const std::vector<double>& additive) const {
    const std::size_t steps = walks.steps(), d = steps - 1;
    Coalitions pairs(static_cast<int>(d));
    std::vector<double> values, weights;
    for (std::size_t i = 0; i < fold.size(); i += 2) {
      if (fold[i] == f) continue;
      for (std::size_t k = 1; k < d; ++k) {
        for (const std::size_t at : {i * steps + k, (i + 1) * steps + d - k}) {
          pairs.Add(walks.coalitions.mask(at));
          values.push_back(walks.values[at]);
          weights.push_back(1 / static_cast<double>(k * (d - k)));
        }
      }
    }
    const auto all = static_cast<std::int64_t>(values.size());
    const std::int64_t larger = std::max<std::int64_t>(0, all / per_term_ - walks.sample.dimension);
    return FitOddGame(pairs, OddHalves(values), weights, additive,
                      walks.values[d] - walks.values[0], static_cast<std::size_t>(larger), trees_);
  }

  // Adds a fit's Shapley values for fold f, and what the fold's orders say of the rest.
  template <class Fit>
  static void Correct(const Walks& walks, const std::vector<std::size_t>& fold, std::size_t f,
                      const Fit& fit, std::vector<double>& phi) {
    const auto exact = fit.ShapleyValues();
    const std::size_t steps = walks.steps();
    std::vector<double> left(walks.values.size());
    for (std::size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] != f) continue;
      for (std::size_t j = 0; j < phi.size(); ++j) phi[j] += walks.sample.weight(i) * exact[j];
      for (std::size_t k = i * steps; k < (i + 1) * steps; ++k) {
        left[k] = walks.values[k] - fit.value(walks.coalitions.mask(k));
      }
      AddMarginals(walks, left, i, phi);
    }
  }

  // The values less the additive game with these values of single players.
  static std::vector<double> Rest(const Walks& walks, const std::vector<double>& additive) {
    std::vector<double> rest = walks.values;
    for (std::size_t i = 0; i < walks.sample.count(); ++i) {
      double sum = walks.values[i * walks.steps()];
      const auto order = walks.sample.order(i);
      for (std::size_t k = 0; k <= order.size(); ++k) {
        rest[i * walks.steps() + k] -= sum;
        if (k < order.size()) sum += additive[static_cast<std::size_t>(order[k])];
      }
    }
    return rest;
  }

  // (v(S) - v(N - S)) / 2: the complement of k players of an order is passed by its reverse.
  static std::vector<double> OddHalf(const Walks& walks, const std::vector<double>& values) {
    std::vector<double> odd(values.size());
    const std::size_t steps = walks.steps();
    for (std::size_t i = 0; i < walks.sample.count(); ++i) {
      for (std::size_t k = 0; k < steps; ++k) {
        odd[i * steps + k] =
            (values[i * steps + k] - values[(i ^ 1) * steps + (steps - 1 - k)]) / 2;
      }
    }
    return odd;
  }

  std::unique_ptr<PermutationSampler> sampler_;
  FitKind kind_;
  std::size_t folds_;
  std::int64_t per_term_;
  BinaryBoostingOptions trees_;
};

}  // namespace

RETABLE_REGISTER(
    ShapleyEstimator, fitted_permutations,
    {.name = "Permutations-fitted",
     .summary = "marginals along permutations, with a fitted game as a control variate",
     .citation = "this project; Mitchell et al. 2022, equation 3; Witter, Liu, Musco 2025",
     .parameters = {{"sampler", std::string("Foldover-descent"), "of the permutations"},
                    {"fit", std::string("trees"),
                     "trees, odd: a regression, or pairs: that on random pairs"},
                    {"folds", std::int64_t{5}, "of cross-fitting, at least 2"},
                    {"coalitions_per_term", std::int64_t{10}, "of odd and pairs, at least 3"},
                    {"rounds", std::int64_t{100}, "trees of a fit"},
                    {"depth", std::int64_t{4}, "of a tree"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
       const BinaryBoostingOptions trees = BoostingOf(p, 4);
       auto sampler = Registry<PermutationSampler>::Instance().Make(
           TextParameter(p, "sampler", "Foldover-descent"), Device::kCpu, {});
       return std::make_unique<FittedPermutations>(
           std::move(sampler), FitByName(TextParameter(p, "fit", "trees")),
           IntegerParameter(p, "folds", 5), IntegerParameter(p, "coalitions_per_term", 10), trees);
     }});

}  // namespace retable::shapley
