//! @file
//! Owen's multilinear extension: sh_i = integral over q of E[v(E + i) - v(E - i)], where every
//! player is in E with probability q; by the trapezoid rule over a grid of q.
//!
//! Owen takes `kRuns` random sets for each q of [0, 1]; Owen-halved a grid of [0, 1/2], each set
//! also as its complement at 1 - q (Okhrati and Lipani 2020). One set serves all players: d
//! marginals from d + 1 values, since E is E + i or E - i. The trapezoid rule is exact only for
//! games of interactions of two players at most, so there is a bias which falls with the square of
//! the grid. Owen 1972; Mitchell et al. 2022, section 2.5.

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kOwenStream = 5;
constexpr std::int64_t kRuns = 2;

class Owen final : public ShapleyEstimator {
 public:
  explicit Owen(bool halved) : halved_(halved) {}

  // Two points of the grid at least.
  std::int64_t least_budget(int d) const override { return 2 * MarginalsPerPoint(d); }

  // d + 1 values for d marginals.
  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    return evaluations / (d + 1) * d;
  }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const std::int64_t intervals = budget / MarginalsPerPoint(d) - 1;
    ShapleyEstimate sum{std::vector<double>(static_cast<std::size_t>(d), 0.0), 0};
    constexpr std::size_t kTogether = 8192;  // words of coalitions, at least
    std::vector<std::uint64_t> masks;
    std::vector<double> weights;
    const auto add = [&](const std::vector<std::uint64_t>& set, double weight) {
      AppendMarginals(d, set, masks);
      weights.push_back(weight);
      if (masks.size() >= kTogether) AskFor(game, masks, weights, sum);
    };
    for (std::int64_t point = 0; point <= intervals; ++point) {
      const double q = static_cast<double>(point) / static_cast<double>(intervals);
      const double end = point == 0 || point == intervals ? 0.5 : 1.0;
      // Halved: half the interval, but two sets a run.
      const double weight = end / static_cast<double>(intervals * kRuns) * (halved_ ? 0.5 : 1.0);
      for (std::int64_t run = 0; run < kRuns; ++run) {
        auto set = RandomSet(d, halved_ ? q / 2 : q, seed,
                             static_cast<std::uint64_t>(point * kRuns + run));
        add(set, weight);
        if (!halved_) continue;
        Complement(d, set);
        add(set, weight);
      }
    }
    if (!weights.empty()) AskFor(game, masks, weights, sum);
    return sum;
  }

 private:
  std::int64_t MarginalsPerPoint(int d) const { return kRuns * d * (halved_ ? 2 : 1); }

  static std::vector<std::uint64_t> RandomSet(int d, double q, std::uint64_t seed,
                                              std::uint64_t index) {
    const Philox4x32 random = Philox4x32::FromSeed(seed);
    std::vector<std::uint64_t> set(CoalitionWords(d), 0);
    for (int i = 0; i < d; ++i) {
      const auto player = static_cast<std::size_t>(i);
      const PhiloxBlock block = random.Block((index << 20) + player / 2, kOwenStream);
      if (UniformDouble(block.half(i % 2)) < q) LetIn(set, player);
    }
    return set;
  }

  // The set with one player changed, for each player, and the set.
  static void AppendMarginals(int d, const std::vector<std::uint64_t>& set,
                              std::vector<std::uint64_t>& masks) {
    for (int i = 0; i <= d; ++i) {
      const std::size_t at = masks.size();
      masks.insert(masks.end(), set.begin(), set.end());
      if (i < d) masks[at + static_cast<std::size_t>(i) / 64] ^= std::uint64_t{1} << (i % 64);
    }
  }

  // Adds the marginals of all sets so far, and forgets these.
  static void AskFor(const Game& game, std::vector<std::uint64_t>& masks,
                     std::vector<double>& weights, ShapleyEstimate& sum) {
    const std::size_t d = sum.values.size(), words = CoalitionWords(static_cast<int>(d));
    std::vector<double> values(weights.size() * (d + 1));
    EvaluateChecked(game, masks, values);
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const double* v = values.data() + s * (d + 1);
      const auto set = std::span(masks).subspan((s * (d + 1) + d) * words, words);
      for (std::size_t i = 0; i < d; ++i) {
        sum.values[i] += weights[s] * (Has(set, i) ? v[d] - v[i] : v[i] - v[d]);
      }
    }
    sum.evaluations += static_cast<std::int64_t>(values.size());
    masks.clear();
    weights.clear();
  }

  bool halved_;
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, owen,
                 {.name = "Owen",
                  .summary = "multilinear extension by the trapezoid rule",
                  .citation = "Owen 1972; Mitchell et al. 2022, section 2.5",
                  .make = [](const Parameters&) { return std::make_unique<Owen>(false); }});
RETABLE_REGISTER(ShapleyEstimator, owen_halved,
                 {.name = "Owen-halved",
                  .summary = "multilinear extension with each set's complement",
                  .citation = "Okhrati and Lipani 2020; Mitchell et al. 2022, section 2.5",
                  .make = [](const Parameters&) { return std::make_unique<Owen>(true); }});

}  // namespace retable::shapley
