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
#include <numeric>

#include "algorithms/common/philox.hpp"
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

  ShapleyEstimate estimate(const Game& game, std::int64_t budget,
                           std::uint64_t seed) const override {
    const int d = game.dimension();
    CheckBudget(*this, d, budget);
    const auto players = static_cast<std::size_t>(d);
    std::vector<Stratum> strata(players * players);
    const std::int64_t cells = std::int64_t{d} * d;
    const std::int64_t each = std::max<std::int64_t>(2, budget / (2 * cells));
    std::uint64_t draws = 0;
    for (std::size_t s = 0; s < strata.size(); ++s) Sample(game, strata, s, each, seed, draws);
    const auto extra = ByVariance(strata, budget - each * cells);
    for (std::size_t s = 0; s < strata.size(); ++s) Sample(game, strata, s, extra[s], seed, draws);
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
    if (sum <= 0) return shares;  // nothing varies: nothing more to learn
    double running = 0;
    std::int64_t given = 0;
    for (std::size_t s = 0; s < strata.size(); ++s) {
      running += strata[s].Variance();
      const double upto = std::round(static_cast<double>(total) * (running / sum));
      shares[s] = std::min(static_cast<std::int64_t>(upto), total) - given;
      given += shares[s];
    }
    return shares;
  }

  // Adds marginals of player s / d joining at position s % d.
  static void Sample(const Game& game, std::vector<Stratum>& strata, std::size_t s,
                     std::int64_t count, std::uint64_t seed, std::uint64_t& draws) {
    const auto players = static_cast<std::size_t>(game.dimension());
    const std::size_t player = s / players, position = s % players;
    const std::size_t words = CoalitionWords(game.dimension());
    std::vector<std::int32_t> others(players - 1);
    std::vector<std::uint64_t> masks(2 * words);
    double v[2];
    for (std::int64_t k = 0; k < count; ++k, ++draws) {
      UniformOrder(seed, kStratifiedStream, draws, others);
      std::fill(masks.begin(), masks.end(), 0);
      for (std::size_t j = 0; j < position; ++j) {
        const auto other = static_cast<std::size_t>(others[j]);
        const std::size_t who = other + (other >= player ? 1 : 0);
        masks[who / 64] |= std::uint64_t{1} << (who % 64);
      }
      std::copy_n(masks.begin(), words, masks.begin() + static_cast<std::ptrdiff_t>(words));
      masks[words + player / 64] |= std::uint64_t{1} << (player % 64);
      EvaluateChecked(game, masks, v);
      strata[s].Add(v[1] - v[0]);
    }
  }
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, stratified,
                 {.name = "Stratified",
                  .device = Device::kCpu,
                  .summary = "strata of player and position, two stages by variance",
                  .citation = "Castro et al. 2017; Mitchell et al. 2022, section 2.6",
                  .make = [](const Parameters&) -> std::unique_ptr<ShapleyEstimator> {
                    return std::make_unique<Stratified>();
                  }});

}  // namespace retable::shapley
