#include "baselines/shapley/odd_regression.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

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
    const auto i = static_cast<std::size_t>(player);
    minus = minus != (((mask[i / 64] >> (i % 64)) & 1) != 0);
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
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = k;
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

// Least squares over one of each pair with sum f = -worth / 2: the first column's coefficient is
// what the others leave of the sum.
std::vector<double> Coefficients(const Coalitions& pairs, std::span<const double> odd,
                                 std::span<const double> weights, const std::vector<OddTerm>& terms,
                                 double worth) {
  const auto n = static_cast<Eigen::Index>(odd.size() / 2);
  const auto k = static_cast<Eigen::Index>(terms.size());
  const double sum = -worth / 2;
  const double scale = *std::max_element(weights.begin(), weights.end());
  Eigen::MatrixXd rows(n, k - 1);
  Eigen::VectorXd targets(n);
  for (Eigen::Index r = 0; r < n; ++r) {
    const auto at = static_cast<std::size_t>(2 * r);
    const double root = std::sqrt(weights[at] / scale);
    const auto mask = pairs.mask(at);
    const double first = Character(mask, terms[0]);
    for (Eigen::Index c = 1; c < k; ++c) {
      rows(r, c - 1) = root * (Character(mask, terms[static_cast<std::size_t>(c)]) - first);
    }
    targets(r) = root * (odd[at] - sum * first);
  }
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(k - 1, k - 1);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
  gram.diagonal().array() += 1e-10 * gram.trace() / static_cast<double>(k);
  Eigen::VectorXd f(k);
  f.tail(k - 1) = gram.selfadjointView<Eigen::Lower>().ldlt().solve(rows.transpose() * targets);
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
  const auto chosen = Interactions(pairs, Rest(pairs, odd, additive), larger, trees);
  terms.insert(terms.end(), chosen.begin(), chosen.end());
  auto coefficients = Coefficients(pairs, odd, weights, terms, worth);
  return {pairs.dimension(), std::move(terms), std::move(coefficients)};
}

}  // namespace retable::shapley
