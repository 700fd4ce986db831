//! @file
//! Regression with maximum sample reuse: Shapley values of a fitted game, known exactly, plus an
//! unbiased estimate for what the fit leaves over.
//!
//! Every value v(S) counts for every player: phi_i = sum over S of v(S) ([i in S] / |S| -
//! [i not in S] / (d - |S|)) / C(d, |S|), summed over the taken coalitions by their chance (`MSR`;
//! of v less equal shares of the worth, whose values are known).
//! `RegressionMSR` first fits boosted trees, the nearest additive game, or both one after the other
//! ("stacked", ours), and estimates only the residual that way; fits and residuals come from
//! different folds. What a fit leaves over on the coalitions it was fitted to is known, so those
//! count once each and the held ones stand for the coalitions that are in neither: the estimate
//! stays unbiased without replacement, and becomes exact as the budget reaches all coalitions
//! (ours; for sizes with a pair in every fold). Both are shifted to the game's worth, a projection
//! which lowers the error. Sizes are taken in proportion to sqrt(1 / s + 1 / (d - s)), the least
//! variance for values of one size. Witter, Liu, Musco 2025; Wang and Jia 2023 (maximum sample
//! reuse).

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "baselines/shapley/binary_boosting.hpp"
#include "baselines/shapley/least_squares.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kRegressionMsrStream = 11;
constexpr std::uint64_t kMsrFoldStream = 12;

struct Data {
  PairedDesign design;
  std::vector<double> values;
  Ends ends;
};

// A game fitted to some of the coalitions.
struct Fit {
  std::function<double(std::span<const std::uint64_t> mask)> value;
  std::vector<double> shapley_values;
};

// Equal parts of the worth: the estimate before anything is fitted.
Fit EqualShares(int d, const Ends& ends) {
  const auto value = [d, ends](std::span<const std::uint64_t> mask) {
    return ends.none + ends.worth() * SizeOf(mask) / d;
  };
  return {value, std::vector<double>(static_cast<std::size_t>(d), ends.worth() / d)};
}

Fit FitAdditive(const Data& data, std::span<const std::size_t> rows) {
  Coalitions some(data.design.coalitions.dimension());
  const auto all = data.design.KernelWeights();
  std::vector<double> values, weights;
  for (const std::size_t k : rows) {
    some.Add(data.design.coalitions.mask(k));
    values.push_back(data.values[k]);
    weights.push_back(all[k]);
  }
  const auto phi = NearestAdditive(some, values, weights, data.ends);
  const auto value = [none = data.ends.none, phi](std::span<const std::uint64_t> mask) {
    double sum = none;
    for (std::size_t i = 0; i < phi.size(); ++i) {
      if (Has(mask, i)) sum += phi[i];
    }
    return sum;
  };
  return {value, phi};
}

// Another fit, and boosted trees on what it leaves over.
Fit WithTrees(Fit first, const Data& data, std::span<const std::size_t> rows,
              const BinaryBoostingOptions& options) {
  std::vector<double> rest = data.values;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    rest[k] -= first.value(data.design.coalitions.mask(k));
  }
  BoostedGame trees(data.design.coalitions, rows, rest, options);
  const auto more = trees.ShapleyValues();
  for (std::size_t i = 0; i < more.size(); ++i) first.shapley_values[i] += more[i];
  auto value = [before = std::move(first.value),
                trees = std::move(trees)](std::span<const std::uint64_t> mask) {
    return before(mask) + trees.value(mask);
  };
  return {std::move(value), std::move(first.shapley_values)};
}

enum class Proxy { kNone, kAdditive, kTrees, kStacked };

Proxy ProxyByName(const std::string& name) {
  if (name == "additive") return Proxy::kAdditive;
  if (name == "trees") return Proxy::kTrees;
  if (name == "stacked") return Proxy::kStacked;
  throw std::invalid_argument("no proxy \"" + name + "\": additive, trees and stacked are known");
}

class RegressionMsr final : public ShapleyEstimator {
 public:
  RegressionMsr(Proxy proxy, std::int64_t folds, const BinaryBoostingOptions& trees)
      : proxy_(proxy),
        folds_(static_cast<std::size_t>(proxy == Proxy::kNone ? 1 : folds)),
        trees_(trees) {
    if (folds < 2) throw std::invalid_argument("folds: at least two are needed");
  }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const auto share = [d](int s) { return std::sqrt(1.0 / s + 1.0 / (d - s)); };
    Data data{TakePairs(d, PairsOfBudget(budget), share, seed, kRegressionMsrStream),
              {},
              EndValues(game)};
    data.values = Values(game, data.design.coalitions);
    std::vector<double> phi(static_cast<std::size_t>(d), 0.0);
    const std::size_t folds = data.design.complete ? 1 : folds_;
    const auto fold = Folds(data, folds, seed);
    for (std::size_t f = 0; f < folds; ++f) AddFold(data, fold, f, folds, phi);
    const double sum = std::accumulate(phi.begin(), phi.end(), 0.0);
    for (double& x : phi) x += (data.ends.worth() - sum) / d;
    return {phi, static_cast<std::int64_t>(data.values.size()) + 2};
  }

 private:
  // The fold of each pair: those of a size are dealt out in turn, in random order.
  static std::vector<std::size_t> Folds(const Data& data, std::size_t folds, std::uint64_t seed) {
    std::vector<std::size_t> fold(data.values.size() / 2);
    Draws draws(seed, kMsrFoldStream);
    for (std::size_t from = 0, to = 0; from < fold.size(); from = to) {
      const int size = data.design.coalitions.size(2 * from);
      while (to < fold.size() && data.design.coalitions.size(2 * to) == size) ++to;
      const std::size_t start = draws.Below(folds);
      for (std::size_t p = from; p < to; ++p) {
        fold[p] = (start + p) % folds;
        std::swap(fold[p], fold[from + draws.Below(p - from + 1)]);
      }
    }
    return fold;
  }

  Fit MakeFit(const Data& data, std::span<const std::size_t> rows) const {
    Fit shares = EqualShares(data.design.coalitions.dimension(), data.ends);
    if (proxy_ == Proxy::kNone || rows.empty()) return shares;
    if (proxy_ == Proxy::kTrees) return WithTrees(std::move(shares), data, rows, trees_);
    Fit additive = FitAdditive(data, rows);
    if (proxy_ == Proxy::kAdditive) return additive;
    return WithTrees(std::move(additive), data, rows, trees_);
  }

  // Adds the estimate that fits all folds but f and corrects by f, over the number of folds.
  void AddFold(const Data& data, const std::vector<std::size_t>& fold, std::size_t f,
               std::size_t folds, std::vector<double>& phi) const {
    const Coalitions& taken = data.design.coalitions;
    const int d = taken.dimension();
    const auto held = [&](std::size_t k) { return fold[k / 2] == f; };
    std::vector<std::size_t> fitted;
    std::vector<double> of_size(static_cast<std::size_t>(d), 0), held_of_size = of_size;
    for (std::size_t k = 0; k < data.values.size(); ++k) {
      if (!held(k)) fitted.push_back(k);
      (held(k) ? held_of_size : of_size)[static_cast<std::size_t>(taken.size(k))] += 1;
    }
    const Fit fit = MakeFit(data, fitted);
    const auto shares = static_cast<double>(folds);
    for (std::size_t i = 0; i < phi.size(); ++i) phi[i] += fit.shapley_values[i] / shares;
    for (std::size_t k = 0; k < data.values.size(); ++k) {
      const int size = taken.size(k);
      const double known = of_size[static_cast<std::size_t>(size)];
      const double kept = held_of_size[static_cast<std::size_t>(size)];
      const double all = CoalitionsOfSize(d, size);
      const double pairs = (known + kept) / (2 * size == d ? 2 : 1);
      const bool corrected = folds > 1 && pairs >= shares;  // one in every fold
      double weight = held(k) ? shares * data.design.weight[k] : 0;
      if (corrected) weight = held(k) ? (all - known) / kept : 1;
      if (weight == 0) continue;
      const double part = weight * (data.values[k] - fit.value(taken.mask(k))) / (all * shares);
      for (std::size_t i = 0; i < phi.size(); ++i) {
        phi[i] += taken.has(k, i) ? part / size : -part / (d - size);
      }
    }
  }

  Proxy proxy_;
  std::size_t folds_;
  BinaryBoostingOptions trees_;
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, msr,
                 {.name = "MSR",
                  .summary = "every value counts for every player, by its chance; unbiased",
                  .citation = "Wang and Jia 2023; Witter, Liu, Musco 2025",
                  .make = [](const Parameters&) {
                    return std::make_unique<RegressionMsr>(Proxy::kNone, 2,
                                                           BinaryBoostingOptions{});
                  }});
RETABLE_REGISTER(
    ShapleyEstimator, regression_msr,
    {.name = "RegressionMSR",
     .summary = "Shapley values of a fitted game, and MSR of what it leaves over",
     .citation = "Witter, Liu, Musco 2025",
     .parameters = {{"proxy", std::string("trees"),
                     "the fitted game: trees, additive, or stacked: trees on an additive one"},
                    {"folds", std::int64_t{5}, "of cross-fitting, at least 2"},
                    {"rounds", std::int64_t{100}, "trees of a fit"},
                    {"depth", std::int64_t{4}, "of a tree"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
       const BinaryBoostingOptions trees = BoostingOf(p, 4);
       return std::make_unique<RegressionMsr>(ProxyByName(TextParameter(p, "proxy", "trees")),
                                              IntegerParameter(p, "folds", 5), trees);
     }});

}  // namespace retable::shapley
