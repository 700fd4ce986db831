#include "baselines/shapley/coalitions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

namespace retable::shapley {

void Coalitions::AddComplement(std::size_t k) {
  for (std::size_t w = 0; w < words_; ++w) bits_.push_back(bits_[k * words_ + w]);
  Complement(d_, std::span(bits_).last(words_));
}

std::vector<double> Values(const Game& game, const Coalitions& coalitions) {
  constexpr std::size_t kBatch = 4096;
  const std::size_t words = CoalitionWords(game.dimension());
  std::vector<double> values(coalitions.count());
  for (std::size_t from = 0; from < values.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, values.size() - from);
    EvaluateChecked(game, coalitions.all().subspan(from * words, count * words),
                    std::span(values).subspan(from, count));
  }
  return values;
}

void UniformCoalition(Draws& draws, int d, int size, std::span<std::uint64_t> mask) {
  std::fill(mask.begin(), mask.end(), 0);
  // Floyd's: for j of the last `size` players, a player up to j, or j where that one is in.
  for (int j = d - size; j < d; ++j) {
    auto player = static_cast<std::size_t>(draws.Below(static_cast<std::uint64_t>(j) + 1));
    if (Has(mask, player)) player = static_cast<std::size_t>(j);
    LetIn(mask, player);
  }
}

double CoalitionsOfSize(int d, int size) {
  double ways = 1;
  for (int k = 1; k <= std::min(size, d - size); ++k) {
    ways = std::round(ways * (d - k + 1) / k);
  }
  return ways;
}

void CheckPlayers(int d) {
  if (d <= kMostPaired) return;
  throw std::invalid_argument(std::to_string(d) +
                              " players: estimators by pairs of coalitions "
                              "count all of them, which a double can up to " +
                              std::to_string(kMostPaired) +
                              "; KernelSHAP, SVARM and permutations take more");
}

std::vector<double> PairedDesign::KernelWeights() const {
  const int d = coalitions.dimension();
  std::vector<double> weights(weight.size());
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const int size = coalitions.size(k);
    weights[k] = weight[k] * (1 / (CoalitionsOfSize(d, size) * size * (d - size)));
  }
  return weights;
}

namespace {

// The expected number of pairs of each size 1 .. d / 2.
std::vector<double> Expected(const std::vector<double>& there, const std::vector<double>& share,
                             double total) {
  std::vector<double> expected(there.size(), 0);
  std::vector<bool> full(there.size(), false);
  for (bool again = true; again;) {  // what full sizes do not need goes to the others
    again = false;
    double left = total, shares = 0;
    for (std::size_t s = 0; s < there.size(); ++s) {
      if (full[s]) {
        left -= there[s];
      } else {
        shares += share[s];
      }
    }
    for (std::size_t s = 0; s < there.size(); ++s) {
      if (full[s]) continue;
      expected[s] = left * share[s] / shares;
      if (expected[s] >= there[s]) {
        expected[s] = there[s];
        full[s] = again = true;
      }
    }
  }
  return expected;
}

// All canonical coalitions of a size, by the next larger number of as many ones; d <= 63.
std::vector<std::vector<std::uint64_t>> Enumerate(int d, int size) {
  std::vector<std::vector<std::uint64_t>> all;
  const std::uint64_t end = std::uint64_t{1} << d;
  for (std::uint64_t mask = (std::uint64_t{1} << size) - 1; mask < end;) {
    if (2 * size != d || (mask & 1) != 0) all.push_back({mask});
    const std::uint64_t low = mask & (~mask + 1), ripple = mask + low;
    mask = ripple | (((mask ^ ripple) / low) >> 2);
  }
  return all;
}

}  // namespace

void MakeCanonical(int d, int size, std::vector<std::uint64_t>& mask) {
  if (2 * size == d && (mask[0] & 1) == 0) Complement(d, mask);
}

void TakeOfSize(Draws& draws, int d, int size, std::size_t count, double there, Coalitions& taken) {
  if (d < 64 && there <= 4.0 * static_cast<double>(count)) {
    auto all = Enumerate(d, size);
    for (std::size_t k = 0; k < count; ++k) {
      std::swap(all[k], all[k + draws.Below(all.size() - k)]);
      taken.AddPair(all[k]);
    }
    return;
  }
  std::set<std::vector<std::uint64_t>> seen;
  std::vector<std::uint64_t> mask(CoalitionWords(d));
  while (seen.size() < count) {
    UniformCoalition(draws, d, size, mask);
    MakeCanonical(d, size, mask);
    if (!seen.insert(mask).second) continue;
    taken.AddPair(mask);
  }
}

PairedDesign TakePairs(int d, std::int64_t pairs, const std::function<double(int)>& share,
                       std::uint64_t seed, std::uint64_t stream) {
  CheckPlayers(d);
  PairedDesign design{Coalitions(d), {}, false};
  std::vector<double> there, shares;
  for (int s = 1; 2 * s <= d; ++s) {
    there.push_back(CoalitionsOfSize(d, s) / (2 * s == d ? 2 : 1));
    shares.push_back(share(s) * (2 * s == d ? 0.5 : 1));  // a size and its complement's
  }
  const double all = std::accumulate(there.begin(), there.end(), 0.0);
  const double total = std::min(static_cast<double>(pairs), all);
  const auto expected = Expected(there, shares, total);
  Draws draws(seed, stream);
  // Whole numbers of the right mean and sum: where a comb of random phase falls in the running sum.
  const double phase = draws.Uniform();
  double running = 0;
  for (std::size_t k = 0; k < there.size(); ++k) {
    const double before = std::floor(running + phase);
    running = k + 1 == there.size() ? total : running + expected[k];
    const double count = std::min(std::floor(running + phase) - before, there[k]);
    if (count < 1) continue;
    const std::size_t first = design.coalitions.count();
    TakeOfSize(draws, d, static_cast<int>(k) + 1, static_cast<std::size_t>(count), there[k],
               design.coalitions);
    // A size that is always there is weighted by what was taken of it, a rare one by its chance.
    const double weight = there[k] / (expected[k] >= 1 ? count : expected[k]);
    design.weight.insert(design.weight.end(), design.coalitions.count() - first, weight);
  }
  design.complete = static_cast<double>(design.coalitions.count()) >= 2 * all;
  return design;
}

}  // namespace retable::shapley
