#pragma once
//! @file
//! Games that are sums of conjunctions: sums of small interactions, and every decision tree, whose
//! leaves are conjunctions.

#include "algorithms/shapley/games/game.hpp"

namespace retable::shapley {

//! A conjunction: `coefficient` where all players of `with` are in and none of `without` is.
struct Term {
  std::vector<std::int32_t> with, without;
  double coefficient = 0;
};

//! The terms of a game in arrays.
struct TermTables {
  //! Coefficients in units of a power of two in which no sum of them overflows: sums are exact in
  //! any order, so that every walk, every batch and every device has the same bits.
  std::span<const std::int64_t> coefficient;
  double unit = 1;
  //! The players of term t: with from begin[t] to middle[t], without from there to begin[t + 1].
  std::span<const std::uint16_t> players;
  std::span<const std::uint32_t> begin, middle;
  std::span<const std::uint64_t> with, without;  //!< masks: word by word, each of all terms
};

//! A sum of conjunctions over any number of players; terms of the same players are joined. Each
//! coefficient is rounded to 2^-62 of the sum of their magnitudes.
//!
//! A value costs a pass over the terms, O(terms * d / 64). A walk costs O(literals) altogether, not
//! for each of its d + 1 coalitions: a term holds from the position of its last `with` to that of
//! its first `without`, so it adds to two positions of the walk's differences.
class TermGame final : public Game {
 public:
  //! @throws std::invalid_argument for d outside of 1..65535, players beyond d, a player on both
  //! sides, coefficients without a finite sum.
  TermGame(int d, std::span<const Term> terms);
  int dimension() const override { return d_; }
  void evaluate(std::span<const std::uint64_t> coalitions, std::span<double> values) const override;
  void walk(std::span<const std::int32_t> order, std::span<double> values) const override;
  //! Exact Shapley values, term by term: c (u-1)! w! / (u+w)! for each of u players in, and
  //! -c u! (w-1)! / (u+w)! for each of w players out. Lundberg et al. 2020, algorithm 3.
  std::vector<double> ShapleyValues() const;
  std::size_t terms() const { return coefficient_.size(); }
  TermTables tables() const { return {fixed_, unit_, players_, begin_, middle_, with_, without_}; }

 private:
  std::span<const std::uint16_t> With(std::size_t t) const;
  std::span<const std::uint16_t> Without(std::size_t t) const;

  int d_;
  std::vector<double> coefficient_;
  std::vector<std::int64_t> fixed_;  // coefficients in units
  double unit_ = 1;
  std::vector<std::uint16_t> players_;         // of all terms: with, then without
  std::vector<std::uint32_t> begin_, middle_;  // of a term's players; one more begin at the end
  std::vector<std::uint64_t> with_, without_;  // the same as masks: word by word, each of all terms
};

//! The game on the current CUDA device: the same values, bit for bit. Calls wait for each other.
//! @throws std::invalid_argument for more than 4096 players, or in a build without CUDA;
//! std::runtime_error on a CUDA error.
std::unique_ptr<Game> MakeDeviceTermGame(const TermGame& game);

}  // namespace retable::shapley
