//! @file
//! Permutations with a fitted control variate: the Shapley values of a fitted game, known exactly,
//! plus what the permutations say of the rest.
//!
//! Marginal contributions along a design are averaged as ever, but of v less a game f fitted to the
//! coalitions that the other folds' permutations pass through: phi = sum_k W_k phi(f_k) + sum of
//! w_p (marginals of v - f_k along p), with p in fold k and W_k the fold's weight. An additive game
//! is no control variate, permutations are exact for it, so f is boosted trees on what the mean
//! marginals leave over; and an order with its reverse is exact for games with v(S) = v(N - S), so
//! where orders come with their reverses the trees are fitted to the odd half alone. A pair of an
//! order and the next stays in one fold. The weighted sum
//! over the whole design keeps its balance where the fits agree. Cost: a fit for each fold, O(trees
//! depth) a coalition. Not in the paper: Mitchell et al. 2022, equation 3, with the idea of Witter,
//! Liu, Musco 2025.

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "baselines/shapley/binary_boosting.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kFoldStream = 14;

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

// Adds `scale` times the weighted marginals of order i, where `values` are those of all walks.
void AddMarginals(const Walks& walks, const std::vector<double>& values, std::size_t i,
                  double scale, std::vector<double>& phi) {
  const auto order = walks.sample.order(i);
  const double* v = values.data() + i * walks.steps();
  for (std::size_t k = 0; k < order.size(); ++k) {
    phi[static_cast<std::size_t>(order[k])] += scale * walks.sample.weight(i) * (v[k + 1] - v[k]);
  }
}

class FittedPermutations final : public ShapleyEstimator {
 public:
  FittedPermutations(std::unique_ptr<PermutationSampler> sampler, std::int64_t folds,
                     const BinaryBoostingOptions& trees)
      : sampler_(std::move(sampler)), folds_(static_cast<std::size_t>(folds)), trees_(trees) {
    if (folds < 2) throw std::invalid_argument("folds: at least two are needed");
    if (trees.rounds < 1 || trees.depth < 1) {
      throw std::invalid_argument("rounds and depth of the trees: at least one");
    }
  }

  std::int64_t least_budget(int d) const override { return d + 1; }
  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    return d == 1 ? evaluations : (evaluations - 2) / (2 * (d - 1)) * (d + 1);
  }

  ShapleyEstimate estimate(const Game& game, std::int64_t budget,
                           std::uint64_t seed) const override {
    const int d = game.dimension();
    CheckBudget(*this, d, budget);
    const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
    const Walks walks = WalkAll(game, sampler_->sample(n, d, seed));
    ShapleyEstimate estimate{std::vector<double>(static_cast<std::size_t>(d), 0.0),
                             static_cast<std::int64_t>(walks.values.size())};
    // Few orders say nothing of interactions: no fit then.
    if (n < 4 * folds_ || d < 3) {
      for (std::size_t i = 0; i < n; ++i) AddMarginals(walks, walks.values, i, 1, estimate.values);
      return estimate;
    }
    const auto fold = Folds(n, seed);
    for (std::size_t f = 0; f < folds_; ++f) AddFold(walks, fold, f, estimate.values);
    return estimate;
  }

 private:
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
    const std::size_t n = walks.sample.count(), steps = walks.steps();
    std::vector<double> additive(phi.size(), 0.0);
    double others = 0, own = 0;
    for (std::size_t i = 0; i < n; ++i) {
      (fold[i] == f ? own : others) += walks.sample.weight(i);
      if (fold[i] != f) AddMarginals(walks, walks.values, i, 1, additive);
    }
    for (double& x : additive) x /= others;
    auto rest = Rest(walks, additive);
    if (walks.ComesWithReverses()) rest = OddHalf(walks, rest);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n; ++i) {
      if (fold[i] == f) continue;
      for (std::size_t k = 1; k + 1 < steps; ++k) rows.push_back(i * steps + k);
    }
    const BoostedGame fit(walks.coalitions, rows, rest, trees_);
    const auto exact = fit.ShapleyValues();
    for (std::size_t i = 0; i < phi.size(); ++i) phi[i] += own * exact[i];
    std::vector<double> left(walks.values.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (fold[i] != f) continue;
      for (std::size_t k = i * steps; k < (i + 1) * steps; ++k) {
        left[k] = walks.values[k] - fit.value(walks.coalitions.mask(k));
      }
      AddMarginals(walks, left, i, 1, phi);
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
  std::size_t folds_;
  BinaryBoostingOptions trees_;
};

}  // namespace

RETABLE_REGISTER(
    ShapleyEstimator, fitted_permutations,
    {.name = "Permutations-fitted",
     .device = Device::kCpu,
     .summary = "marginals along permutations, with fitted trees as a control variate",
     .citation = "this project; Mitchell et al. 2022, equation 3; Witter, Liu, Musco 2025",
     .parameters = {{"sampler", std::string("Foldover-descent"), "of the permutations"},
                    {"folds", std::int64_t{5}, "of cross-fitting, at least 2"},
                    {"rounds", std::int64_t{100}, "trees of a fit"},
                    {"depth", std::int64_t{4}, "of a tree"},
                    {"learning_rate", 0.3, "of boosting"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
       BinaryBoostingOptions trees;
       trees.rounds = static_cast<int>(IntegerParameter(p, "rounds", 100));
       trees.depth = static_cast<int>(IntegerParameter(p, "depth", 4));
       trees.learning_rate = RealParameter(p, "learning_rate", 0.3);
       auto sampler = Registry<PermutationSampler>::Instance().Make(
           TextParameter(p, "sampler", "Foldover-descent"), Device::kCpu, {});
       return std::make_unique<FittedPermutations>(std::move(sampler),
                                                   IntegerParameter(p, "folds", 5), trees);
     }});

}  // namespace retable::shapley
