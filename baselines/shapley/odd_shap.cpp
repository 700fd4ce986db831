//! @file
//! OddSHAP: Shapley values by a sparse Fourier regression of the odd half of a game.
//!
//! With chi_T(S) = (-1)^|S and T| a game is sum f_T chi_T, and phi_i = -2 sum of f_T / |T| over the
//! odd T with i: the even half, (v(S) + v(N - S)) / 2, does not matter. So the odd half's values
//! o(S) = (v(S) - v(N - S)) / 2 of taken pairs are regressed on all single players and on those
//! larger odd T that matter most in boosted trees fitted to what the nearest additive game leaves
//! of them (ours; the paper fits the trees to v): at most one column for ten coalitions. The worth
//! is a constraint. Rows count by the Shapley kernel over their chance, which makes the answer
//! consistent whatever the columns (the projection on the additive games is through the larger
//! space), and LeverageSHAP's where no columns are added. O(m k^2) for m coalitions, k columns.
//! OddSHAP, arXiv:2602.01399, 2026.

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>

#include "baselines/shapley/binary_boosting.hpp"
#include "baselines/shapley/least_squares.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kStream = 13;
constexpr std::size_t kLargestTerm = 5;

// Players of an odd set in ascending order; unused places hold kNobody.
using Term = std::array<std::int32_t, kLargestTerm>;
constexpr std::int32_t kNobody = 1 << 30;

std::size_t SizeOf(const Term& term) {
  return static_cast<std::size_t>(
      std::count_if(term.begin(), term.end(), [](std::int32_t i) { return i != kNobody; }));
}

Term Single(std::size_t player) {
  Term term;
  term.fill(kNobody);
  term[0] = static_cast<std::int32_t>(player);
  return term;
}

// Adds the Fourier coefficients of size 3 and 5 of a leaf: each subset T of its k literals has
// +- value / 2^k, a minus for every player of T that has to be in.
void AddLeaf(std::span<const Literal> path, double value, std::map<Term, double>& coefficients) {
  const std::size_t k = path.size();
  const double part = std::ldexp(value, -static_cast<int>(k));
  for (std::uint32_t subset = 0; subset < (1u << k); ++subset) {
    const int size = std::popcount(subset);
    if (size != 3 && size != 5) continue;
    Term term = Single(0);
    std::size_t at = 0;
    double sign = 1;
    for (std::size_t j = 0; j < k; ++j) {
      if (((subset >> j) & 1) == 0) continue;
      term[at++] = path[j].player;
      if (path[j].in) sign = -sign;
    }
    std::sort(term.begin(), term.end());
    coefficients[term] += sign * part;
  }
}

// The `count` terms of three or five players that weigh most in boosted trees.
std::vector<Term> Interactions(const Coalitions& coalitions, std::span<const double> odd,
                               std::size_t count, const BinaryBoostingOptions& options) {
  std::vector<std::size_t> rows(coalitions.count());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = k;
  const BoostedGame game(coalitions, rows, odd, options);
  std::map<Term, double> coefficients;
  game.ForEachLeaf(
      [&](std::span<const Literal> path, double value) { AddLeaf(path, value, coefficients); });
  std::vector<std::pair<double, Term>> ranked;
  for (const auto& [term, f] : coefficients) ranked.emplace_back(-std::abs(f), term);
  count = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end());
  std::vector<Term> terms;
  for (std::size_t k = 0; k < count && ranked[k].first < 0; ++k) terms.push_back(ranked[k].second);
  return terms;
}

double Character(const Coalitions& coalitions, std::size_t k, const Term& term) {
  bool minus = false;
  for (std::size_t j = 0; j < SizeOf(term); ++j) {
    minus = minus != coalitions.has(k, static_cast<std::size_t>(term[j]));
  }
  return minus ? -1 : 1;
}

// The coalitions on the way of each order and of its reverse. An order passes one of every size, so
// a coalition counts C(d, size) for every time it is passed.
PairedDesign PairsOfOrders(const PermutationSample& sample) {
  const int d = sample.dimension;
  PairedDesign design{Coalitions(d), {}, false};
  std::map<std::vector<std::uint64_t>, std::size_t> at;
  const std::size_t words = CoalitionWords(d);
  for (std::size_t i = 0; i < sample.count(); i += 2) {
    const auto passed = Prefixes(sample.order(i));
    for (int size = 1; size < d; ++size) {
      const auto from = passed.begin() + static_cast<std::ptrdiff_t>(words) * size;
      std::vector<std::uint64_t> mask(from, from + static_cast<std::ptrdiff_t>(words));
      const int smaller = std::min(size, d - size);
      if (smaller != size) {
        for (auto& word : mask) word = ~word;
        if (d % 64 != 0) mask.back() &= (std::uint64_t{1} << (d % 64)) - 1;
      }
      MakeCanonical(d, smaller, mask);
      const auto [known, fresh] = at.insert({mask, design.coalitions.count()});
      if (fresh) {
        design.coalitions.Add(mask);
        design.coalitions.AddComplement(design.coalitions.count() - 1);
        design.weight.insert(design.weight.end(), 2, 0.0);
      }
      for (const std::size_t side : {0, 1}) {
        design.weight[known->second + side] += CoalitionsOfSize(d, size);
      }
    }
  }
  return design;
}

class OddShap final : public ShapleyEstimator {
 public:
  OddShap(std::int64_t per_term, const BinaryBoostingOptions& trees,
          std::unique_ptr<PermutationSampler> sampler)
      : per_term_(per_term), trees_(trees), sampler_(std::move(sampler)) {
    if (per_term < 3) throw std::invalid_argument("coalitions_per_term: at least three");
    if (trees.rounds < 1 || trees.depth < 1 || trees.depth > 16) {
      throw std::invalid_argument("rounds of at least one, depth of 1 to 16");
    }
  }

  std::int64_t least_budget(int d) const override { return d + 1; }
  std::int64_t budget_for(int d, std::int64_t evaluations) const override {
    if (sampler_ == nullptr) return ShapleyEstimator::budget_for(d, evaluations);
    return d == 1 ? evaluations : (evaluations - 2) / (2 * (d - 1)) * (d + 1);
  }

  ShapleyEstimate estimate(const Game& game, std::int64_t budget,
                           std::uint64_t seed) const override {
    const int d = game.dimension();
    CheckBudget(*this, d, budget);
    const auto design = TakePairs(
        d, PairsOfBudget(budget), [](int) { return 1.0; }, seed, kStream);
    const Ends ends = EndValues(game);
    const auto values = Values(game, design.coalitions);
    const auto asked = static_cast<std::int64_t>(values.size()) + 2;
    const std::int64_t columns = asked / per_term_ - d;
    std::vector<double> odd(values.size()), weights(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      odd[k] = (values[k] - values[k ^ 1]) / 2;
      weights[k] = design.weight[k] * ShapleyKernel(d, design.coalitions.size(k));
    }
    if (columns <= 0 || design.complete) {
      return {NearestAdditive(design.coalitions, values, weights, ends), asked};
    }
    std::vector<Term> terms;
    for (std::size_t i = 0; i < static_cast<std::size_t>(d); ++i) terms.push_back(Single(i));
    const auto additive = NearestAdditive(design.coalitions, values, weights, ends);
    const auto larger = Interactions(design.coalitions, Rest(design.coalitions, odd, additive),
                                     static_cast<std::size_t>(columns), trees_);
    terms.insert(terms.end(), larger.begin(), larger.end());
    return {FromTerms(d, terms, Coefficients(design.coalitions, odd, weights, terms, ends)), asked};
  }

 private:
  PairedDesign Design(int d, std::int64_t budget, std::uint64_t seed) const {
    if (sampler_ != nullptr) {
      const auto n = static_cast<std::size_t>(2 * (budget / (d + 1)));
      return PairsOfOrders(sampler_->sample(n, d, seed));
    }
    return TakePairs(
        d, PairsOfBudget(budget), [](int) { return 1.0; }, seed, kStream);
  }

  // The odd half less an additive game's: what larger terms are for.
  static std::vector<double> Rest(const Coalitions& coalitions, std::vector<double> odd,
                                  const std::vector<double>& phi) {
    for (std::size_t k = 0; k < odd.size(); ++k) {
      for (std::size_t i = 0; i < phi.size(); ++i) {
        odd[k] -= coalitions.has(k, i) ? phi[i] / 2 : -phi[i] / 2;
      }
    }
    return odd;
  }

  // Least squares over one of each pair with sum f = -(v(N) - v(none)) / 2: the first column's
  // coefficient is what the others leave of the sum.
  static Eigen::VectorXd Coefficients(const Coalitions& coalitions, const std::vector<double>& odd,
                                      const std::vector<double>& weights,
                                      const std::vector<Term>& terms, const Ends& ends) {
    const auto n = static_cast<Eigen::Index>(odd.size() / 2);
    const auto k = static_cast<Eigen::Index>(terms.size());
    const double sum = -ends.worth() / 2;
    const double scale = *std::max_element(weights.begin(), weights.end());
    Eigen::MatrixXd rows(n, k - 1);
    Eigen::VectorXd targets(n);
    for (Eigen::Index r = 0; r < n; ++r) {
      const auto at = static_cast<std::size_t>(2 * r);
      const double root = std::sqrt(weights[at] / scale);
      const double first = Character(coalitions, at, terms[0]);
      for (Eigen::Index c = 1; c < k; ++c) {
        rows(r, c - 1) =
            root * (Character(coalitions, at, terms[static_cast<std::size_t>(c)]) - first);
      }
      targets(r) = root * (odd[at] - sum * first);
    }
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(k - 1, k - 1);
    gram.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
    gram.diagonal().array() += 1e-10 * gram.trace() / static_cast<double>(k);
    Eigen::VectorXd f(k);
    f.tail(k - 1) = gram.selfadjointView<Eigen::Lower>().ldlt().solve(rows.transpose() * targets);
    f(0) = sum - f.tail(k - 1).sum();
    return f;
  }

  static std::vector<double> FromTerms(int d, const std::vector<Term>& terms,
                                       const Eigen::VectorXd& f) {
    std::vector<double> phi(static_cast<std::size_t>(d), 0.0);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      const std::size_t size = SizeOf(terms[k]);
      for (std::size_t j = 0; j < size; ++j) {
        phi[static_cast<std::size_t>(terms[k][j])] -=
            2 * f(static_cast<Eigen::Index>(k)) / static_cast<double>(size);
      }
    }
    return phi;
  }

  std::int64_t per_term_;
  BinaryBoostingOptions trees_;
  std::unique_ptr<PermutationSampler> sampler_;  // none: pairs without replacement
};

}  // namespace

RETABLE_REGISTER(
    ShapleyEstimator, odd_shap,
    {.name = "OddSHAP",
     .device = Device::kCpu,
     .summary = "sparse Fourier regression of the game's odd half, terms chosen by boosted trees",
     .citation = "OddSHAP, arXiv:2602.01399, 2026",
     .parameters = {{"coalitions_per_term", std::int64_t{10}, "a column for so many, at least 3"},
                    {"rounds", std::int64_t{100}, "trees that choose the terms"},
                    {"depth", std::int64_t{5}, "of a tree"},
                    {"learning_rate", 0.3, "of boosting"},
                    {"sampler", std::string("none"), "of permutations that pass the coalitions"}},
     .make = [](const Parameters& p) -> std::unique_ptr<ShapleyEstimator> {
       BinaryBoostingOptions trees;
       trees.rounds = static_cast<int>(IntegerParameter(p, "rounds", 100));
       trees.depth = static_cast<int>(IntegerParameter(p, "depth", 5));
       trees.learning_rate = RealParameter(p, "learning_rate", 0.3);
       const std::string name = TextParameter(p, "sampler", "none");
       auto sampler = name == "none"
                          ? nullptr
                          : Registry<PermutationSampler>::Instance().Make(name, Device::kCpu, {});
       return std::make_unique<OddShap>(IntegerParameter(p, "coalitions_per_term", 10), trees,
                                        std::move(sampler));
     }});

}  // namespace retable::shapley
