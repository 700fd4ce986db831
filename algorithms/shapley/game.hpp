#pragma once
//! @file
//! Cooperative games: a value for each coalition of d players.
//!
//! A coalition is a bit mask of CoalitionWords(d) words; bit i % 64 of word i / 64 is player i.
//! Games take many coalitions at a time, so that a model's predictions can be made in one go.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace retable::shapley {

inline std::size_t CoalitionWords(int d) {
  return (static_cast<std::size_t>(d) + 63) / 64;
}

//! A game v with v(coalition) for every coalition. Calls are const and may come from many threads.
class Game {
 public:
  virtual ~Game() = default;
  virtual int dimension() const = 0;
  //! values[k] = v(coalitions[k * CoalitionWords(d) ...]).
  virtual void evaluate(std::span<const std::uint64_t> coalitions,
                        std::span<double> values) const = 0;
};

//! Asks the game for a batch and checks the answers. @throws std::invalid_argument for a value that
//! is not finite: an average over it would mean nothing.
void EvaluateChecked(const Game& game, std::span<const std::uint64_t> coalitions,
                     std::span<double> values);

//! A game by a function of one mask (d <= 64).
std::unique_ptr<Game> FunctionGame(int d, std::function<double(std::uint64_t)> value);

//! Every coalition's value stored: a look-up from then on. Asks the game 2^d times and keeps 2^d
//! doubles. @throws std::invalid_argument for d > 20.
std::unique_ptr<Game> TabulatedGame(const Game& game);

//! A conjunction: `coefficient` where all players of `with` are in and none of `without` is.
struct Term {
  std::uint64_t with = 0;
  std::uint64_t without = 0;
  double coefficient = 0;
};

//! A sum of conjunctions over d <= 64 players: sums of small interactions, and every decision tree
//! (a leaf is a conjunction). Terms of the same masks are joined. A value costs one pass over the
//! terms.
class TermGame final : public Game {
 public:
  //! @throws std::invalid_argument for d outside of 1..64, players beyond d, a player on both
  //! sides.
  TermGame(int d, std::vector<Term> terms);
  int dimension() const override { return d_; }
  void evaluate(std::span<const std::uint64_t> coalitions, std::span<double> values) const override;
  //! Exact Shapley values, term by term: c (u-1)! w! / (u+w)! for each of u players in, and
  //! -c u! (w-1)! / (u+w)! for each of w players out. Lundberg et al. 2020, algorithm 3.
  std::vector<double> ShapleyValues() const;
  std::size_t terms() const { return coefficient_.size(); }

 private:
  int d_;
  std::vector<std::uint64_t> with_, without_;
  std::vector<double> coefficient_;
};

//! `count` random conjunctions of 1 to `order` players with normal coefficients.
std::unique_ptr<TermGame> RandomTermGame(int d, int order, int count, std::uint64_t seed);

//! Exact Shapley values from all 2^d coalitions: equation 1. @throws as TabulatedGame.
std::vector<double> ExactShapleyValues(const Game& game);

}  // namespace retable::shapley
