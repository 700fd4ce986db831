//! @file
//! Kernel SHAP: the least squares problem of Shapley values on coalitions drawn by the Shapley
//! kernel, as the Python package shap does it, but with pairs of the middle size too.
//!
//! Sizes 1 and d - 1, then 2 and d - 2, ... are taken completely as long as their share of the
//! kernel pays for them; what is left of the budget is drawn with replacement from the sizes
//! between, each draw with its complement, a coalition drawn again counting once more at no cost.
//! The package leaves coalitions of d / 2 players without their complements, which trebles its
//! error at d = 10 (docs/lab/shapley/014-packages.md). Consistent, not unbiased. O(m d^2) for m
//! coalitions. Lundberg and Lee 2017; Covert and Lee 2021 (pairs).

#include <map>

#include "baselines/shapley/least_squares.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kKernelShapStream = 9;
constexpr int kDrawsAPair = 50;  // more draws than this for a new pair: nearly all are there

// A size with its complement's: how many pairs there are, and their part of the kernel.
struct SizePair {
  int size = 0;
  double pairs = 0, part = 0;
};

std::vector<SizePair> SizePairs(int d) {
  std::vector<SizePair> sizes;
  double sum = 0;
  for (int s = 1; 2 * s <= d; ++s) {
    const double half = 2 * s == d ? 0.5 : 1;
    sizes.push_back({s, half * CoalitionsOfSize(d, s), half / (static_cast<double>(s) * (d - s))});
    sum += sizes.back().part;
  }
  for (auto& size : sizes) size.part /= sum;
  return sizes;
}

void AddSize(PairedDesign& to, int d, const SizePair& size, Draws& draws) {
  const std::size_t first = to.coalitions.count();
  TakeOfSize(draws, d, size.size, static_cast<std::size_t>(size.pairs), size.pairs, to.coalitions);
  to.weight.insert(to.weight.end(), to.coalitions.count() - first, size.part / size.pairs);
}

void DrawRest(PairedDesign& to, int d, std::span<const SizePair> sizes, std::int64_t pairs,
              Draws& draws) {
  double part = 0;
  for (const auto& size : sizes) part += size.part;
  std::map<std::vector<std::uint64_t>, std::size_t> at;
  std::vector<std::uint64_t> mask(CoalitionWords(d));
  const std::size_t first = to.weight.size();
  for (std::int64_t tries = kDrawsAPair * pairs; pairs > 0 && tries > 0; --tries) {
    double u = draws.Uniform() * part;
    std::size_t k = 0;
    while (k + 1 < sizes.size() && u >= sizes[k].part) u -= sizes[k++].part;
    UniformCoalition(draws, d, sizes[k].size, mask);
    MakeCanonical(d, sizes[k].size, mask);
    const auto [known, fresh] = at.insert({mask, to.weight.size()});
    if (fresh) {
      to.coalitions.AddPair(mask);
      to.weight.insert(to.weight.end(), 2, 1.0);
      --pairs;
    } else {
      for (const std::size_t side : {0, 1}) to.weight[known->second + side] += 1;
    }
  }
  double sum = 0;  // over pairs
  for (std::size_t k = first; k < to.weight.size(); k += 2) sum += to.weight[k];
  for (std::size_t k = first; k < to.weight.size(); ++k) to.weight[k] *= part / sum;
}

class KernelShap final : public ShapleyEstimator {
 public:
  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    PairedDesign taken{Coalitions(d), {}, false};
    const auto sizes = SizePairs(d);
    Draws draws(seed, kKernelShapStream);
    std::int64_t left = PairsOfBudget(budget);
    double part = 1;
    std::size_t k = 0;
    for (; k < sizes.size(); ++k) {
      const double affordable = static_cast<double>(left) * sizes[k].part / part;
      const bool last = k + 1 == sizes.size();
      if (affordable < sizes[k].pairs * (1 - 1e-8) &&
          !(last && sizes[k].pairs <= static_cast<double>(left))) {
        break;
      }
      AddSize(taken, d, sizes[k], draws);
      left -= static_cast<std::int64_t>(sizes[k].pairs);
      part -= sizes[k].part;
    }
    if (k < sizes.size() && left > 0) DrawRest(taken, d, std::span(sizes).subspan(k), left, draws);
    const Ends ends = EndValues(game);
    const auto values = Values(game, taken.coalitions);
    return {NearestAdditive(taken.coalitions, values, taken.weight, ends),
            static_cast<std::int64_t>(values.size()) + 2};
  }
};

}  // namespace

RETABLE_REGISTER(ShapleyEstimator, kernel_shap,
                 {.name = "KernelSHAP",
                  .summary = "weighted least squares on coalitions by the Shapley kernel, in pairs",
                  .citation = "Lundberg and Lee 2017; Covert and Lee 2021",
                  .make = [](const Parameters&) { return std::make_unique<KernelShap>(); }});

}  // namespace retable::shapley
