#pragma once
//! @file
//! Games of tests.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/games/term_game.hpp"

namespace retable::shapley {

//! A game by a function of one mask.
class OneByOne final : public Game {
 public:
  OneByOne(int d, std::function<double(std::uint64_t)> value) : d_(d), value_(std::move(value)) {
    if (d < 1 || d > 64) throw std::invalid_argument("a game by masks has 1 to 64 players");
  }
  int dimension() const override { return d_; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    std::transform(coalitions.begin(), coalitions.end(), values.begin(), value_);
  }

 private:
  int d_;
  std::function<double(std::uint64_t)> value_;
};

//! A game by a function of one mask (d <= 64).
inline std::unique_ptr<Game> FunctionGame(int d, std::function<double(std::uint64_t)> value) {
  return std::make_unique<OneByOne>(d, std::move(value));
}

//! `count` random conjunctions of 1 to `order` players with normal coefficients.
inline std::unique_ptr<TermGame> RandomTermGame(int d, int order, int count, std::uint64_t seed) {
  if (order < 1) throw std::invalid_argument("conjunctions of at least one player are needed");
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::uint64_t next = 0;
  const auto draw = [&] { return random.Block(next++).half(0); };
  std::vector<Term> terms(static_cast<std::size_t>(count));
  for (Term& term : terms) {
    const auto size = UniformBelow(draw(), static_cast<std::uint64_t>(order)) + 1;
    std::vector<char> used(static_cast<std::size_t>(d), 0);
    for (std::uint64_t k = 0; k < size; ++k) {
      const auto player = UniformBelow(draw(), static_cast<std::uint64_t>(d));
      if (used[player]++ != 0) continue;
      (draw() % 2 == 0 ? term.with : term.without).push_back(static_cast<std::int32_t>(player));
    }
    const double radius = std::sqrt(-2 * std::log(UniformDoubleOpenBelow(draw())));
    term.coefficient = radius * std::cos(2 * std::numbers::pi * UniformDouble(draw()));
  }
  return std::make_unique<TermGame>(d, terms);
}

}  // namespace retable::shapley
