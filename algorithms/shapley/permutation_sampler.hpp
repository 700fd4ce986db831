#pragma once
//! @file
//! The contract of a sampler of permutations: n orders of d players, to stand for all d!.
//!
//! An order lists players from the first to join to the last. A set of orders may carry weights,
//! which sum to one; without them every order counts 1 / n. Every sampler is a pure function of
//! (n, d, seed). Source of the problem and of the names: Mitchell, Cooper, Frank, Holmes 2022,
//! "Sampling Permutations for Shapley Value Estimation", JMLR 23(43).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/work.hpp"

namespace retable::shapley {

//! n orders of d players, row-major.
struct PermutationSample {
  int dimension = 0;
  std::vector<std::int32_t> orders;  //!< n x d; each row holds 0 .. d - 1 once
  std::vector<double> weights;       //!< empty (all equal), or n values of sum 1

  std::size_t count() const {
    return dimension == 0 ? 0 : orders.size() / static_cast<std::size_t>(dimension);
  }
  std::span<const std::int32_t> order(std::size_t i) const {
    const auto d = static_cast<std::size_t>(dimension);
    return std::span(orders).subspan(i * d, d);
  }
  std::span<std::int32_t> order(std::size_t i) {
    const auto d = static_cast<std::size_t>(dimension);
    return std::span(orders).subspan(i * d, d);
  }
  double weight(std::size_t i) const {
    return weights.empty() ? 1.0 / static_cast<double>(count()) : weights[i];
  }
};

//! A method that chooses permutations.
class PermutationSampler {
 public:
  virtual ~PermutationSampler() = default;
  //! `n` >= 0 orders of `d` >= 1 players. Where a method works in blocks (pairs of MC-antithetic,
  //! 2 (d - 1) of Orthogonal) and n is not a multiple, the last block is cut short.
  //! @throws std::invalid_argument for d < 1 or a d over the method's limit.
  virtual PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const = 0;
  //! What drawing n orders of d cannot do without: they are written. Methods that compute for their
  //! choice add that.
  virtual std::vector<Work> work(std::size_t n, int d) const {
    return {{"copy", 4.0 * static_cast<double>(n) * d}};
  }
};

//! @throws std::invalid_argument for d < 1, d > 65535 or n d > 2^40.
void CheckSample(std::size_t n, int d);

//! An empty sample of n orders. @throws as CheckSample
PermutationSample EmptySample(std::size_t n, int d);

//! Writes the uniform order number `index` of `seed` (Fisher and Yates' shuffle on Philox words,
//! stream `stream`): orders of different index or stream are independent. O(d).
void UniformOrder(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                  std::span<std::int32_t> order);

//! Renames the players of all orders alike, by uniform order 0 of that stream.
void Relabel(PermutationSample& sample, std::uint64_t seed, std::uint64_t stream);

//! Players in ascending order of their scores; equal scores by number. O(d log d).
void OrderOfScores(std::span<const double> scores, std::span<std::int32_t> order);

}  // namespace retable::shapley
