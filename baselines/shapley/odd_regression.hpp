#pragma once
//! @file
//! A sparse Fourier regression of the odd half of a game.
//!
//! With chi_T(S) = (-1)^|S and T| a game is sum f_T chi_T, and phi_i = -2 sum of f_T / |T| over the
//! odd T with i: the even half, (v(S) + v(N - S)) / 2, does not matter. The odd half's values
//! o(S) = (v(S) - v(N - S)) / 2 are regressed on all single players and on those odd T of three or
//! five players that matter most in boosted trees fitted to what an additive game leaves of them
//! (ours; the paper fits the trees to v). The worth is a constraint. Characters are kept as bits
//! and multiplied by counting: m k^2 / 64 words for m pairs of few different weights and k columns,
//! and k^3 / 3 to solve. OddSHAP, arXiv:2602.01399, 2026.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "baselines/shapley/binary_boosting.hpp"
#include "baselines/shapley/coalitions.hpp"

namespace retable::shapley {

inline constexpr std::size_t kLargestOddTerm = 5;
//! Players of an odd set in ascending order; unused entries hold kNobody.
using OddTerm = std::array<std::int32_t, kLargestOddTerm>;
inline constexpr std::int32_t kNobody = 1 << 30;

//! A game that is a sum of odd characters, with its Shapley values.
class OddGame {
 public:
  OddGame(int d, std::vector<OddTerm> terms, std::vector<double> coefficients)
      : d_(d), terms_(std::move(terms)), coefficients_(std::move(coefficients)) {}
  double value(std::span<const std::uint64_t> mask) const;
  std::vector<double> ShapleyValues() const;

 private:
  int d_;
  std::vector<OddTerm> terms_;
  std::vector<double> coefficients_;
};

//! The odd half of the values of pairs: number 2 p + 1 belongs to the complement of number 2 p.
std::vector<double> OddHalves(std::span<const double> values);

//! The odd game nearest to `odd` (as OddHalves gives it) on pairs of coalitions, with the worth
//! given. @param additive Shapley values of an additive game close by: terms are chosen for what it
//! leaves over. @param larger terms of more than one player, at most
OddGame FitOddGame(const Coalitions& pairs, std::span<const double> odd,
                   std::span<const double> weights, const std::vector<double>& additive,
                   double worth, std::size_t larger, const BinaryBoostingOptions& trees);

}  // namespace retable::shapley
