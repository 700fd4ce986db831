#pragma once
//! @file
//! Cooperative games: a value for each coalition of d players.
//!
//! A coalition is a bit mask of CoalitionWords(d) words; bit i % 64 of word i / 64 is player i.
//! Games take many coalitions at a time, so that a model predicts them in one batch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace retable::shapley {

inline std::size_t CoalitionWords(int d) {
  return (static_cast<std::size_t>(d) + 63) / 64;
}

inline bool Has(std::span<const std::uint64_t> mask, std::size_t player) {
  return ((mask[player / 64] >> (player % 64)) & 1) != 0;
}
inline void LetIn(std::span<std::uint64_t> mask, std::size_t player) {
  mask[player / 64] |= std::uint64_t{1} << (player % 64);
}
//! How many players are in.
int SizeOf(std::span<const std::uint64_t> mask);
//! Makes a coalition of d players that of all others.
void Complement(int d, std::span<std::uint64_t> mask);

//! A game v with v(coalition) for every coalition. Calls are const and may come from many threads.
class Game {
 public:
  virtual ~Game() = default;
  virtual int dimension() const = 0;
  //! values[k] = v(coalitions[k * CoalitionWords(d) ...]).
  virtual void evaluate(std::span<const std::uint64_t> coalitions,
                        std::span<double> values) const = 0;
  //! values[k] = v(the first k players of `order`), k = 0 .. d. Here by evaluate(); games where one
  //! more player costs less than a new coalition do better.
  virtual void walk(std::span<const std::int32_t> order, std::span<double> values) const;
  //! Several walks: orders and values one after the other. Here walk by walk; games that gain from
  //! many coalitions at a time do better.
  virtual void walks(std::span<const std::int32_t> orders, std::span<double> values) const;
};

//! The d + 1 coalitions that `order` passes through, from the empty one on.
std::vector<std::uint64_t> Prefixes(std::span<const std::int32_t> order);
//! Those of each of several orders of d players, one after the other.
std::vector<std::uint64_t> Prefixes(std::span<const std::int32_t> orders, int d);

//! Asks the game for a batch and checks the answers. @throws std::invalid_argument for a value that
//! is not finite: an average over it would mean nothing.
void EvaluateChecked(const Game& game, std::span<const std::uint64_t> coalitions,
                     std::span<double> values);
//! The same for several walks.
void WalksChecked(const Game& game, std::span<const std::int32_t> orders, std::span<double> values);

//! v of no player and of all players.
struct Ends {
  double none = 0, all = 0;
  double worth() const { return all - none; }
};
//! @throws as EvaluateChecked
Ends EndValues(const Game& game);

//! Every coalition's value stored: a look-up from then on. Asks the game 2^d times and keeps 2^d
//! doubles. @throws std::invalid_argument for d > 20.
std::unique_ptr<Game> TabulatedGame(const Game& game);

//! Hands everything on to `game` and counts: values asked for, and different coalitions among them.
//! The latter is what an estimate costs when values are kept. Keeps every coalition; `unique` sorts
//! them. `game` must outlive it.
class CountingGame final : public Game {
 public:
  explicit CountingGame(const Game& game) : game_(game) {}
  int dimension() const override { return game_.dimension(); }
  void evaluate(std::span<const std::uint64_t> coalitions, std::span<double> values) const override;
  void walks(std::span<const std::int32_t> orders, std::span<double> values) const override;
  std::int64_t evaluations() const;
  std::int64_t unique() const;

 private:
  void Count(std::span<const std::uint64_t> coalitions) const;

  const Game& game_;
  mutable std::mutex mutex_;
  mutable std::vector<std::uint64_t> asked_;  // every coalition, as often as it came
};

//! a! b! / (a + b + 1)!
double FactorialRatio(int a, int b);

//! Exact Shapley values from all 2^d coalitions: equation 1. @throws as TabulatedGame.
std::vector<double> ExactShapleyValues(const Game& game);

}  // namespace retable::shapley
