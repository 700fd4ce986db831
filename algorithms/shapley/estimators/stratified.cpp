//! @file
//! Stratified sampling: marginal contributions of player i at position l, for all d^2 (i, l).
//!
//! Half of the budget is spread evenly (two a stratum at least); the other half goes to the strata
//! in proportion to the variances found (Castro et al. 2017's two stages). A Shapley value is the
//! mean over its d strata's means. The stages are pooled, so the sizes depend on the first stage's
//! values and a bias of higher order remains. Each marginal asks two values; O(d) to draw one.
//! Needs 2 d^2 marginals. Maleki 2015; Castro et al. 2017; Mitchell et al. 2022, section 2.6.

#include <algorithm>
#include <cmath>

#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kStratifiedStream = 6;

// Running mean and sum of squared deviations (Welford 1962).
struct Stratum {
  std::int64_t count = 0;
  double mean = 0, squares = 0;
  void Add(double x) {
    ++count;
    const double delta = x - mean;
    mean += delta / static_cast<double>(count);
    squares += delta * (x - mean);
  }
  double Variance() const { return count < 2 ? 0 : squares / static_cast<double>(count - 1); }
};

class Stratified final : public ShapleyEstimator {
 public:
  std::int64_t least_budget(int d) const override { return std::int64_t{2} * d * d; }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const auto players = static_cast<std::size_t>(d);
    std::vector<Stratum> strata(players * players);
    const std::int64_t cells = std::int64_t{d} * d;
    const std::int64_t each = std::max<std::int64_t>(2, budget / (2 * cells));
    std::uint64_t draws = 0;
    Sample(game, strata, std::vector<std::int64_t>(strata.size(), each), seed, draws);
    Sample(game, strata, ByVariance(strata, budget - each * cells), seed, draws);
    ShapleyEstimate estimate{std::vector<double>(players, 0.0),
                             2 * static_cast<std::int64_t>(draws)};
    for (std::size_t s = 0; s < strata.size(); ++s) {
      estimate.values[s / players] += strata[s].mean / d;
    }
    return estimate;
  }

 private:
  // `total` shared in proportion to the variances, by rounding the running sum.
  static std::vector<std::int64_t> ByVariance(const std::vector<Stratum>& strata,
                                              std::int64_t total) {
    std::vector<std::int64_t> shares(strata.size(), 0);
    double sum = 0;
    for (const Stratum& s : strata) sum += s.Variance();
    if (sum <= 0) return shares;              // nothing varies: nothing more to learn
    const bool beyond = !std::isfinite(sum);  // the range of doubles: all get the same
    if (beyond) sum = static_cast<double>(strata.size());
    double running = 0;
    std::int64_t given = 0;
    for (std::size_t s = 0; s < strata.size(); ++s) {
      running += beyond ? 1 : strata[s].Variance();
      const double upto = std::round(static_cast<double>(total) * (running / sum));
      shares[s] = std::min(static_cast<std::int64_t>(upto), total) - given;
      given += shares[s];
    }
    return shares;
  }

  // Adds counts[s] marginals of player s / d joining at position s % d, for all s, many of them
  // asked for together.
  static void Sample(const Game& game, std::vector<Stratum>& strata,
                     std::span<const std::int64_t> counts, std::uint64_t seed,
                     std::uint64_t& draws) {
    constexpr std::size_t kTogether = 4096;
    const std::size_t words = CoalitionWords(game.dimension());
    std::vector<std::int32_t> others(static_cast<std::size_t>(game.dimension()) - 1);
    std::vector<std::uint64_t> masks(2 * words * kTogether);
    std::vector<double> values(2 * kTogether);
    std::vector<std::size_t> asked;
    const auto ask = [&] {
      if (asked.empty()) return;  // a game may not take no coalitions
      const auto v = std::span(values).first(2 * asked.size());
      EvaluateChecked(game, std::span(masks).first(words * v.size()), v);
      for (std::size_t k = 0; k < asked.size(); ++k) strata[asked[k]].Add(v[2 * k + 1] - v[2 * k]);
      asked.clear();
    };
    for (std::size_t s = 0; s < counts.size(); ++s) {
      for (std::int64_t k = 0; k < counts[s]; ++k, ++draws) {
        UniformOrder(seed, kStratifiedStream, draws, others);
        WriteMarginal(others, s, std::span(masks).subspan(2 * words * asked.size(), 2 * words));
        asked.push_back(s);
        if (asked.size() == kTogether) ask();
      }
    }
    ask();
  }

  // The coalition of the first others, as many as the position says, without the player and with.
  static void WriteMarginal(std::span<const std::int32_t> others, std::size_t s,
                            std::span<std::uint64_t> masks) {
    const std::size_t players = others.size() + 1, player = s / players, position = s % players;
    const auto without = masks.first(masks.size() / 2), with = masks.last(masks.size() / 2);
    std::ranges::fill(without, 0);
    for (std::size_t j = 0; j < position; ++j) {
      const auto other = static_cast<std::size_t>(others[j]);
      LetIn(without, other + (other >= player ? 1 : 0));
    }
    std::ranges::copy(without, with.begin());
    LetIn(with, player);
  }
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, stratified,
                 {.name = "Stratified",
                  .summary = "strata of player and position, two stages by variance",
                  .citation = "Castro et al. 2017; Mitchell et al. 2022, section 2.6",
                  .make = [](const Parameters&) { return std::make_unique<Stratified>(); }});

}  // namespace retable::shapley
