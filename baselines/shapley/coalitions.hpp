#pragma once
//! @file
//! What the estimators from coalitions share: sets of coalitions, random draws, sampling designs.
//!
//! A design takes pairs of a coalition and its complement without replacement, by size: the
//! expected number of pairs of each size is as equal as possible to a given share of the total, cut
//! at the number there is. A pair is taken with the same probability as any other of its size, so
//! sums over all coalitions are estimated without bias by sums over the taken ones divided by
//! those probabilities (Horvitz and Thompson 1952). Paired, without replacement: Covert and Lee
//! 2021; Musco and Witter 2025.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/shapley_estimator.hpp"

namespace retable::shapley {

//! Random words one after the other from a stream of a seed.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream)
      : random_(Philox4x32::FromSeed(seed)), stream_(stream) {}
  std::uint64_t Word() { return random_.Block(next_++, stream_).half(0); }
  std::uint64_t Below(std::uint64_t n) { return UniformBelow(Word(), n); }
  double Uniform() { return UniformDouble(Word()); }

 private:
  Philox4x32 random_;
  std::uint64_t stream_, next_ = 0;
};

//! Coalitions of d players, one after the other.
class Coalitions {
 public:
  explicit Coalitions(int d) : d_(d), words_(CoalitionWords(d)) {}
  int dimension() const { return d_; }
  std::size_t count() const { return bits_.size() / words_; }
  bool has(std::size_t k, std::size_t player) const { return Has(mask(k), player); }
  int size(std::size_t k) const { return SizeOf(mask(k)); }
  std::span<const std::uint64_t> mask(std::size_t k) const {
    return std::span(bits_).subspan(k * words_, words_);
  }
  std::span<const std::uint64_t> all() const { return bits_; }
  void Add(std::span<const std::uint64_t> mask) {
    bits_.insert(bits_.end(), mask.begin(), mask.end());
  }
  //! Appends the complement of coalition k.
  void AddComplement(std::size_t k);
  //! Appends a coalition and its complement.
  void AddPair(std::span<const std::uint64_t> mask) {
    Add(mask);
    AddComplement(count() - 1);
  }

 private:
  int d_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

//! The game's values of all of them, in batches. @throws std::invalid_argument for values that are
//! not finite.
std::vector<double> Values(const Game& game, const Coalitions& coalitions);

//! A uniform coalition of `size` players.
void UniformCoalition(Draws& draws, int d, int size, std::span<std::uint64_t> mask);

//! The number of coalitions of `size` among d players; infinite where a double cannot hold it.
double CoalitionsOfSize(int d, int size);

//! Of a coalition of d / 2 players and its complement the one that has player 0; others as they
//! are.
void MakeCanonical(int d, int size, std::vector<std::uint64_t>& mask);

//! Appends `count` different pairs of a canonical coalition of `size` <= d / 2 players and its
//! complement, all equally likely, of the `there` >= count there are.
void TakeOfSize(Draws& draws, int d, int size, std::size_t count, double there, Coalitions& taken);

//! Taken coalitions: number 2 p + 1 is the complement of number 2 p, whose size is d / 2 at most.
struct PairedDesign {
  Coalitions coalitions;
  std::vector<double> weight;  //!< one over the probability to take the coalition
  bool complete = false;       //!< every coalition but the empty and the full one is there

  //! Of each coalition `weight` times its probability under the Shapley kernel but for a factor,
  //! 1 / (C(d, s) s (d - s)): least squares over those taken as over all.
  std::vector<double> KernelWeights() const;
};

//! Players of a paired design at most: a double holds C(d, s) s (d - s).
inline constexpr int kMostPaired = 1000;
//! @throws std::invalid_argument for more players.
void CheckPlayers(int d);

//! `pairs` pairs, or all there are. share(s) > 0 is the wish for size s, in any unit. @throws as
//! CheckPlayers
PairedDesign TakePairs(int d, std::int64_t pairs, const std::function<double(int)>& share,
                       std::uint64_t seed, std::uint64_t stream);

//! Pairs that a budget of marginal evaluations pays for: 2 budget values less the two ends.
inline std::int64_t PairsOfBudget(std::int64_t budget) {
  return budget - 1;
}

}  // namespace retable::shapley
