#include "baselines/shapley/odd_regression.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "algorithms/shapley/kernels/discordance.hpp"

namespace retable::shapley {
namespace {

std::size_t SizeOf(const OddTerm& term) {
  return static_cast<std::size_t>(
      std::count_if(term.begin(), term.end(), [](std::int32_t i) { return i != kNobody; }));
}

OddTerm Single(std::size_t player) {
  OddTerm term;
  term.fill(kNobody);
  term[0] = static_cast<std::int32_t>(player);
  return term;
}

double Character(std::span<const std::uint64_t> mask, const OddTerm& term) {
  bool minus = false;
  for (const std::int32_t player : term) {
    if (player == kNobody) break;
    minus = minus != Has(mask, static_cast<std::size_t>(player));
  }
  return minus ? -1 : 1;
}

// Adds the Fourier coefficients of size 3 and 5 of a leaf: each subset T of its k literals has
// +- value / 2^k, a minus for every player of T that has to be in.
void AddLeaf(std::span<const Literal> path, double value, std::map<OddTerm, double>& coefficients) {
  const std::size_t k = path.size();
  const double part = std::ldexp(value, -static_cast<int>(k));
  for (std::uint32_t subset = 0; subset < (1u << k); ++subset) {
    const int size = std::popcount(subset);
    if (size != 3 && size != 5) continue;
    OddTerm term = Single(0);
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
std::vector<OddTerm> Interactions(const Coalitions& coalitions, std::span<const double> odd,
                                  std::size_t count, const BinaryBoostingOptions& options) {
  std::vector<std::size_t> rows(coalitions.count());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const BoostedGame game(coalitions, rows, odd, options);
  std::map<OddTerm, double> coefficients;
  game.ForEachLeaf(
      [&](std::span<const Literal> path, double value) { AddLeaf(path, value, coefficients); });
  std::vector<std::pair<double, OddTerm>> ranked;
  for (const auto& [term, f] : coefficients) ranked.emplace_back(-std::abs(f), term);
  count = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end());
  std::vector<OddTerm> terms;
  for (std::size_t k = 0; k < count && ranked[k].first < 0; ++k) terms.push_back(ranked[k].second);
  return terms;
}

// The odd half less an additive game's: what larger terms are for.
std::vector<double> Rest(const Coalitions& coalitions, std::span<const double> odd,
                         const std::vector<double>& phi) {
  std::vector<double> rest(odd.begin(), odd.end());
  for (std::size_t k = 0; k < rest.size(); ++k) {
    for (std::size_t i = 0; i < phi.size(); ++i) {
      rest[k] -= coalitions.has(k, i) ? phi[i] / 2 : -phi[i] / 2;
    }
  }
  return rest;
}

// The terms' characters over one of each pair as bits (1: minus), pairs of equal weight side by
// side in words of their own: the product of two columns is a count of differing bits for each
// weight.
class Characters {
 public:
  Characters(const Coalitions& pairs, std::span<const double> weights,
             const std::vector<OddTerm>& terms) {
    Arrange(weights);
    const auto d = static_cast<std::size_t>(pairs.dimension());
    std::vector<std::uint64_t> players(d * words_, 0);
    for (std::size_t at = 0; at < pair_at_.size(); ++at) {
      if (pair_at_[at] == kNone) continue;
      for (std::size_t i = 0; i < d; ++i) {
        const bool in = pairs.has(2 * pair_at_[at], i);
        players[i * words_ + at / 64] |= std::uint64_t{in ? 1u : 0u} << (at % 64);
      }
    }
    bits_.assign(terms.size() * words_, 0);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      for (std::size_t j = 0; j < SizeOf(terms[t]); ++j) {
        const auto* of_player = players.data() + static_cast<std::size_t>(terms[t][j]) * words_;
        for (std::size_t w = 0; w < words_; ++w) bits_[t * words_ + w] ^= of_player[w];
      }
    }
  }

  // Sum over the pairs of weight * chi_a * chi_b.
  double Product(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (const Group& g : groups_) {
      const std::size_t at = g.first_word;
      const auto differ = Discordant(Of(a) + at, Of(b) + at, g.words);
      sum += g.weight * static_cast<double>(g.pairs - 2 * differ);
    }
    return sum;
  }

  // Sum over the pairs of weight * chi_a * x, for x a pair.
  double Product(std::size_t a, std::span<const double> x) const {
    double sum = 0;
    for (const Group& g : groups_) {
      double part = 0;
      for (std::size_t at = 64 * g.first_word; at < 64 * g.first_word + Count(g); ++at) {
        part += Minus(a, at) ? -x[pair_at_[at]] : x[pair_at_[at]];
      }
      sum += g.weight * part;
    }
    return sum;
  }

  // chi_a of each pair.
  std::vector<double> Values(std::size_t a, std::size_t pairs) const {
    std::vector<double> values(pairs);
    for (std::size_t at = 0; at < pair_at_.size(); ++at) {
      if (pair_at_[at] != kNone) values[pair_at_[at]] = Minus(a, at) ? -1 : 1;
    }
    return values;
  }

 private:
  struct Group {
    double weight;
    std::int64_t pairs;
    std::size_t first_word, words;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  static std::size_t Count(const Group& g) { return static_cast<std::size_t>(g.pairs); }
  const std::uint64_t* Of(std::size_t term) const { return bits_.data() + term * words_; }
  bool Minus(std::size_t term, std::size_t at) const {
    return ((Of(term)[at / 64] >> (at % 64)) & 1) != 0;
  }

  void Arrange(std::span<const double> weights) {
    std::map<double, std::vector<std::size_t>> of_weight;
    const double scale = *std::max_element(weights.begin(), weights.end());
    for (std::size_t p = 0; 2 * p < weights.size(); ++p) {
      of_weight[weights[2 * p] / scale].push_back(p);
    }
    for (const auto& [weight, pairs] : of_weight) {
      const std::size_t words = (pairs.size() + 63) / 64;
      groups_.push_back({weight, static_cast<std::int64_t>(pairs.size()), words_, words});
      pair_at_.insert(pair_at_.end(), pairs.begin(), pairs.end());
      words_ += words;
      pair_at_.resize(64 * words_, kNone);
    }
  }

  std::size_t words_ = 0;  // of a column
  std::vector<Group> groups_;
  std::vector<std::size_t> pair_at_;  // of each bit; kNone fills the words
  std::vector<std::uint64_t> bits_;
};

// Weighted least squares over one of each pair with sum f = -worth / 2: the first column's
// coefficient is what the others leave of the sum.
std::vector<double> Coefficients(const Coalitions& pairs, std::span<const double> odd,
                                 std::span<const double> weights, const std::vector<OddTerm>& terms,
                                 double worth) {
  const auto k = static_cast<Eigen::Index>(terms.size());
  const Characters chi(pairs, weights, terms);
  const double sum = -worth / 2;
  std::vector<double> targets = chi.Values(0, odd.size() / 2);
  for (std::size_t p = 0; p < targets.size(); ++p) targets[p] = odd[2 * p] - sum * targets[p];
  const double first = chi.Product(0, 0), aim = chi.Product(0, targets);
  Eigen::VectorXd with_first(k - 1), right(k - 1), f(k);
  Eigen::MatrixXd gram(k - 1, k - 1);
  for (Eigen::Index a = 0; a < k - 1; ++a) {
    const auto term = static_cast<std::size_t>(a + 1);
    with_first(a) = chi.Product(term, 0);
    right(a) = chi.Product(term, targets) - aim;
    for (Eigen::Index b = 0; b <= a; ++b) {
      gram(a, b) = chi.Product(term, static_cast<std::size_t>(b + 1)) - with_first(a) -
                   with_first(b) + first;
    }
  }
  gram.diagonal().array() += 1e-10 * gram.trace() / static_cast<double>(k);
  f.tail(k - 1) = gram.selfadjointView<Eigen::Lower>().ldlt().solve(right);
  f(0) = sum - f.tail(k - 1).sum();
  return {f.data(), f.data() + k};
}

}  // namespace

double OddGame::value(std::span<const std::uint64_t> mask) const {
  double sum = 0;
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    sum += coefficients_[k] * Character(mask, terms_[k]);
  }
  return sum;
}

std::vector<double> OddGame::ShapleyValues() const {
  std::vector<double> phi(static_cast<std::size_t>(d_), 0.0);
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    const std::size_t size = SizeOf(terms_[k]);
    for (std::size_t j = 0; j < size; ++j) {
      phi[static_cast<std::size_t>(terms_[k][j])] -=
          2 * coefficients_[k] / static_cast<double>(size);
    }
  }
  return phi;
}

std::vector<double> OddHalves(std::span<const double> values) {
  std::vector<double> odd(values.size());
  for (std::size_t k = 0; k < odd.size(); ++k) odd[k] = (values[k] - values[k ^ 1]) / 2;
  return odd;
}

OddGame FitOddGame(const Coalitions& pairs, std::span<const double> odd,
                   std::span<const double> weights, const std::vector<double>& additive,
                   double worth, std::size_t larger, const BinaryBoostingOptions& trees) {
  std::vector<OddTerm> terms;
  for (std::size_t i = 0; i < additive.size(); ++i) terms.push_back(Single(i));
  if (larger > 0) {
    const auto chosen = Interactions(pairs, Rest(pairs, odd, additive), larger, trees);
    terms.insert(terms.end(), chosen.begin(), chosen.end());
  }
  auto coefficients = Coefficients(pairs, odd, weights, terms, worth);
  return {pairs.dimension(), std::move(terms), std::move(coefficients)};
}

}  // namespace retable::shapley
