//! @file
//! OddSHAP: Shapley values by a sparse Fourier regression of the odd half of a game
//! (odd_regression.hpp): at most one column for ten coalitions. Rows count by the Shapley kernel
//! over their chance, which makes the answer consistent whatever the columns (the projection on the
//! additive games is through the larger space), and LeverageSHAP's where no columns are added.
//! With a `sampler` the coalitions are those that its permutations and their reverses pass (ours).
//! OddSHAP, arXiv:2602.01399, 2026.

#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

#include "baselines/shapley/least_squares.hpp"
#include "baselines/shapley/odd_regression.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kOddShapStream = 13;

// The prefixes of each order and of its reverse; of two orders that follow each other
// the first alone, since samplers that give reverses give them there. An order passes one of every
// size, so a coalition counts C(d, size) for every time it is passed, and all alike once all of
// them are there.
PairedDesign PairsOfOrders(const PermutationSample& sample) {
  const int d = sample.dimension;
  CheckPlayers(d);
  PairedDesign design{Coalitions(d), {}, false};
  std::map<std::vector<std::uint64_t>, std::size_t> at;
  const std::size_t words = CoalitionWords(d);
  for (std::size_t i = 0; i < sample.count(); i += 2) {
    const auto passed = Prefixes(sample.order(i));
    for (int size = 1; size < d; ++size) {
      const auto from = passed.begin() + static_cast<std::ptrdiff_t>(words) * size;
      std::vector<std::uint64_t> mask(from, from + static_cast<std::ptrdiff_t>(words));
      const int smaller = std::min(size, d - size);
      if (smaller != size) Complement(d, mask);
      MakeCanonical(d, smaller, mask);
      const auto [known, fresh] = at.insert({mask, design.coalitions.count()});
      if (fresh) {
        design.coalitions.AddPair(mask);
        design.weight.insert(design.weight.end(), 2, 0.0);
      }
      for (const std::size_t side : {0, 1}) {
        design.weight[known->second + side] += CoalitionsOfSize(d, size);
      }
    }
  }
  design.complete = static_cast<double>(design.coalitions.count()) + 2 >= std::ldexp(1.0, d);
  if (design.complete) design.weight.assign(design.weight.size(), 1.0);
  return design;
}

class OddShap final : public ShapleyEstimator {
 public:
  OddShap(std::int64_t per_term, const BinaryBoostingOptions& trees,
          std::unique_ptr<PermutationSampler> sampler)
      : per_term_(per_term), trees_(trees), sampler_(std::move(sampler)) {
    if (per_term < 3) throw std::invalid_argument("coalitions_per_term: at least three");
    if (trees.depth > 16) throw std::invalid_argument("depth: at most 16");
  }

  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    if (sampler_ == nullptr) return ShapleyEstimator::budget_for(d, evaluations);
    return PermutationBudget(d, evaluations);
  }

  ShapleyEstimate Compute(const Game& game, int d, std::int64_t budget,
                          std::uint64_t seed) const override {
    const PairedDesign design = Design(d, budget, seed);
    const Ends ends = EndValues(game);
    const auto values = Values(game, design.coalitions);
    const auto asked = static_cast<std::int64_t>(values.size()) + 2;
    const auto weights = design.KernelWeights();
    const auto additive = NearestAdditive(design.coalitions, values, weights, ends);
    const std::int64_t larger = asked / per_term_ - d;
    if (larger <= 0 || design.complete) return {additive, asked};
    const OddGame game_of_terms =
        FitOddGame(design.coalitions, OddHalves(values), weights, additive, ends.worth(),
                   static_cast<std::size_t>(larger), trees_);
    return {game_of_terms.ShapleyValues(), asked};
  }

 private:
  PairedDesign Design(int d, std::int64_t budget, std::uint64_t seed) const {
    if (sampler_ != nullptr) {
      const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
      return PairsOfOrders(sampler_->sample(n, d, seed));
    }
    return TakePairs(
        d, PairsOfBudget(budget), [](int) { return 1.0; }, seed, kOddShapStream);
  }

  std::int64_t per_term_;
  BinaryBoostingOptions trees_;
  std::unique_ptr<PermutationSampler> sampler_;  // none: pairs without replacement
};

}  // namespace

RETABLE_REGISTER(
    ShapleyEstimator, odd_shap,
    {.name = "OddSHAP",
     .summary = "sparse Fourier regression of the game's odd half, terms chosen by boosted trees",
     .citation = "OddSHAP, arXiv:2602.01399, 2026",
     .parameters = {{"coalitions_per_term", std::int64_t{10}, "of the regression, at least 3"},
                    {"rounds", std::int64_t{100}, "trees that choose the terms"},
                    {"depth", std::int64_t{5}, "of a tree"},
                    {"sampler", std::string("none"), "of permutations that pass the coalitions"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
       const BinaryBoostingOptions trees = BoostingOf(p, 5);
       const std::string name = TextParameter(p, "sampler", "none");
       auto sampler = name == "none"
                          ? nullptr
                          : Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, {});
       return std::make_unique<OddShap>(IntegerParameter(p, "coalitions_per_term", 10), trees,
                                        std::move(sampler));
     }});

}  // namespace retable::shapley
