#pragma once
//! @file
//! Gradient boosted trees over coalitions: a game fitted to another's values, whose Shapley values
//! are known in closed form.
//!
//! A split asks whether a player is in; squared error with a ridge on leaves (Chen and Guestrin
//! 2016, equations 5 and 7). All levels of a tree need one pass over rows x players. A leaf is a
//! conjunction of players in and out, so its share of the Shapley values is Lundberg et al. 2020,
//! algorithm 3, with the full coalition against the empty one.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/common/parameters.hpp"
#include "baselines/shapley/coalitions.hpp"

namespace retable::shapley {

struct BinaryBoostingOptions {
  int rounds = 100;
  int depth = 4;
  double learning_rate = 0.3;
  double ridge = 1;
};

//! From a method's parameters "rounds" and "depth", whose default depths differ.
//! @throws std::invalid_argument for a number below 1
BinaryBoostingOptions BoostingOf(const Parameters& parameters, int depth);

//! A player that has to be in, or out.
struct Literal {
  std::uint16_t player = 0;
  bool in = false;
};

class BoostedGame {
 public:
  //! Fits the values of the coalitions listed in `rows`. @throws std::invalid_argument for no rows,
  //! or more than 65535 players.
  BoostedGame(const Coalitions& coalitions, std::span<const std::size_t> rows,
              std::span<const double> values, const BinaryBoostingOptions& options);

  double value(std::span<const std::uint64_t> mask) const;
  std::vector<double> ShapleyValues() const;
  //! Calls with the conjunction and the value of each leaf.
  void ForEachLeaf(const std::function<void(std::span<const Literal>, double)>& call) const;

 private:
  struct Node {
    std::int32_t player = -1;  // a leaf
    std::int32_t out = 0, in = 0;
    double value = 0;
  };
  void Grow(const std::vector<float>& inside, std::vector<double>& residual,
            const BinaryBoostingOptions& options);
  void Walk(std::int32_t node, std::vector<Literal>& path,
            const std::function<void(std::span<const Literal>, double)>& call) const;

  std::size_t players_;
  double base_ = 0;
  std::vector<std::int32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace retable::shapley
