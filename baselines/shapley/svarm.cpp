//! @file
//! SVARM: every value of a coalition updates every player, by strata.
//!
//! phi_i = mean over S of v(S + i), less mean over S of v(S), S drawn by size and then uniformly
//! from the others. `SVARM` keeps the two means of each player and draws in turn a coalition for
//! the first, then one for the second. `SVARM-stratified` keeps means for every player, size and
//! side; the sizes 0, 1, d - 1 and d are exact, the other strata get one value each first, so that
//! none is empty, and then coalitions of random size. Which coalitions are drawn does not depend
//! on their values, so both are unbiased. One evaluation a coalition, O(d) updates. Kolpaczki,
//! Bengs, Muschalik, Huellermeier 2024, algorithms 1 and 2.

#include <algorithm>

#include "baselines/shapley/coalitions.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kSvarmStream = 10;

struct Mean {
  std::int64_t count = 0;
  double sum = 0;
  void Add(double x) {
    ++count;
    sum += x;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// One of all coalitions of `size` others of this player, with the player or without.
void AroundPlayer(Draws& draws, int d, int player, int size, bool with,
                  std::span<std::uint64_t> mask) {
  std::vector<std::uint64_t> others(CoalitionWords(d - 1));
  UniformCoalition(draws, d - 1, size, others);
  std::fill(mask.begin(), mask.end(), 0);
  for (int k = 0; k + 1 < d; ++k) {
    if (!Has(others, static_cast<std::size_t>(k))) continue;
    LetIn(mask, static_cast<std::size_t>(k < player ? k : k + 1));
  }
  if (with) LetIn(mask, static_cast<std::size_t>(player));
}

class Svarm final : public ShapleyEstimator {
 public:
  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const auto players = static_cast<std::size_t>(d);
    Draws draws(seed, kSvarmStream);
    Coalitions taken(d);
    std::vector<std::uint64_t> mask(CoalitionWords(d));
    // One of each kind for each player first, then the others in turn.
    const std::int64_t total = 2 * budget;
    for (int i = 0; i < d; ++i) {
      for (const bool with : {true, false}) {
        const auto size = static_cast<int>(draws.Below(static_cast<std::uint64_t>(d)));
        AroundPlayer(draws, d, i, size, with, mask);
        taken.Add(mask);
      }
    }
    double harmonic = 0;
    for (int s = 1; s <= d; ++s) harmonic += 1.0 / s;
    for (std::int64_t k = 2 * d; k < total; ++k) {
      // P(size s) of 1 / s makes a member's other players uniform by size; complements likewise.
      double u = draws.Uniform() * harmonic;
      int size = 1;
      while (size < d && u >= 1.0 / size) u -= 1.0 / size++;
      UniformCoalition(draws, d, size, mask);
      if (k % 2 == 1) Complement(d, mask);
      taken.Add(mask);
    }
    const auto values = Values(game, taken);
    std::vector<Mean> with(players), without(players);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t warm = k / 2;
      const bool in = k % 2 == 0;
      if (warm < players) {
        (in ? with : without)[warm].Add(values[k]);
        continue;
      }
      for (std::size_t i = 0; i < players; ++i) {
        if (taken.has(k, i) == in) (in ? with : without)[i].Add(values[k]);
      }
    }
    ShapleyEstimate estimate{std::vector<double>(players),
                             static_cast<std::int64_t>(values.size())};
    for (std::size_t i = 0; i < players; ++i) {
      estimate.values[i] = with[i].value() - without[i].value();
    }
    return estimate;
  }
};

class StratifiedSvarm final : public ShapleyEstimator {
 public:
  // The ends, the sizes 1 and d - 1, and one value for each stratum between.
  std::int64_t least_budget(int d) const override {
    return std::max<std::int64_t>(d + 1, (Fixed(d) + WarmUp(d) + 1) / 2);
  }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    Draws draws(seed, kSvarmStream);
    Coalitions taken(d);
    std::vector<std::uint64_t> mask(CoalitionWords(d), 0);
    taken.Add(mask);
    taken.AddComplement(0);
    for (int i = 0; i < d && d > 1; ++i) {
      std::fill(mask.begin(), mask.end(), 0);
      LetIn(mask, static_cast<std::size_t>(i));
      taken.Add(mask);
      if (d > 2) taken.AddComplement(taken.count() - 1);
    }
    for (int size = 2; size + 2 <= d; ++size) {
      WarmUpSize(draws, d, size, taken);
    }
    const auto probability = SizeProbabilities(d);
    while (d > 3 && taken.count() < static_cast<std::size_t>(2 * budget)) {
      double u = draws.Uniform();
      int size = 2;
      while (size + 2 < d && u >= probability[static_cast<std::size_t>(size)]) {
        u -= probability[static_cast<std::size_t>(size++)];
      }
      UniformCoalition(draws, d, size, mask);
      taken.Add(mask);
    }
    return FromStrata(taken, Values(game, taken));
  }

 private:
  static std::int64_t Fixed(int d) { return d == 1 ? 2 : d == 2 ? 4 : 2 * d + 2; }

  // Coalitions of each inner size that cover all players, and such whose complements do.
  static std::int64_t WarmUp(int d) {
    std::int64_t sum = 0;
    for (int size = 2; size + 2 <= d; ++size) {
      sum += (d + size - 1) / size + (d + (d - size) - 1) / (d - size);
    }
    return sum;
  }

  // A random order cut into coalitions of `size`, the last filled up from the front; for the side
  // of the absent the same with complements.
  static void WarmUpSize(Draws& draws, int d, int size, Coalitions& taken) {
    for (const bool with : {true, false}) {
      const int block = with ? size : d - size;
      std::vector<std::int32_t> order(static_cast<std::size_t>(d));
      for (std::size_t k = 0; k < order.size(); ++k) {
        order[k] = static_cast<std::int32_t>(k);
        std::swap(order[k], order[draws.Below(k + 1)]);
      }
      for (int from = 0; from < d; from += block) {
        std::vector<std::uint64_t> mask(CoalitionWords(d), 0);
        // The last block overlaps the one before it, which keeps each coalition uniform.
        const int begin = std::min(from, d - block);
        for (int k = begin; k < begin + block; ++k) {
          LetIn(mask, static_cast<std::size_t>(order[static_cast<std::size_t>(k)]));
        }
        if (!with) Complement(d, mask);
        taken.Add(mask);
      }
    }
  }

  // More of the outer sizes, which have fewer coalitions. All sizes alike did no better or worse.
  static std::vector<double> SizeProbabilities(int d) {
    std::vector<double> p(static_cast<std::size_t>(d) + 1, 0);
    double sum = 0;
    for (int s = 2; s + 2 <= d; ++s) {
      p[static_cast<std::size_t>(s)] = 1.0 / s + 1.0 / (d - s);
      sum += p[static_cast<std::size_t>(s)];
    }
    for (double& x : p) x /= sum > 0 ? sum : 1;
    return p;
  }

  static ShapleyEstimate FromStrata(const Coalitions& taken, const std::vector<double>& values) {
    const auto players = static_cast<std::size_t>(taken.dimension());
    // strata[(i, s)]: coalitions of s players beside i, with i and without.
    std::vector<Mean> with(players * players), without(players * players);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto size = static_cast<std::size_t>(taken.size(k));
      for (std::size_t i = 0; i < players; ++i) {
        if (taken.has(k, i)) {
          with[i * players + size - 1].Add(values[k]);
        } else {
          without[i * players + size].Add(values[k]);
        }
      }
    }
    ShapleyEstimate estimate{std::vector<double>(players, 0.0),
                             static_cast<std::int64_t>(values.size())};
    for (std::size_t i = 0; i < players; ++i) {
      for (std::size_t s = 0; s < players; ++s) {
        const std::size_t at = i * players + s;
        estimate.values[i] +=
            (with[at].value() - without[at].value()) / static_cast<double>(players);
      }
    }
    return estimate;
  }
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, svarm,
                 {.name = "SVARM",
                  .summary = "means with and without each player, every value used by all players",
                  .citation = "Kolpaczki et al. 2024, algorithm 1",
                  .make = [](const Parameters&) { return std::make_unique<Svarm>(); }});
RETABLE_REGISTER(ShapleyEstimator, stratified_svarm,
                 {.name = "SVARM-stratified",
                  .summary = "SVARM with strata by player, size and side",
                  .citation = "Kolpaczki et al. 2024, algorithm 2",
                  .make = [](const Parameters&) { return std::make_unique<StratifiedSvarm>(); }});

}  // namespace retable::shapley
