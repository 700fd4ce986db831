#pragma once
//! @file
//! Kernels over permutations: Mallows, Kendall and Spearman, exact in integers.
//!
//! With n_dis the discordant pairs of D = d (d - 1) / 2 and ranks 1 to d:
//!   Mallows   exp(-lambda n_dis / D)      (universal; lambda is relative to D)
//!   Kendall   (D - 2 n_dis) / D
//!   Spearman  sum over players of rank(i) rank'(i)
//! Each is an integer times a scale: `Fixed` returns the integer (for Mallows the value rounded to
//! 2^-40), so sums over a sample do not depend on their order and a greedy choice is the same at
//! any parallelism. Their means over uniform permutations have closed forms which do not depend on
//! the other argument. Cost of a value: D / 64 words, or d products. Mitchell et al. 2022,
//! section 3; Jiao and Vert 2015; Muir 1898 (the generating function of inversions).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::shapley {

//! The Mallows kernel of two orders that differ in `discordant` of `pairs` pairs. 1 without pairs.
RETABLE_HD double MallowsValue(std::int64_t discordant, std::int64_t pairs, double lambda) {
  return pairs == 0 ? 1.0
                    : exp(-lambda * static_cast<double>(discordant) / static_cast<double>(pairs));
}

//! The Kendall kernel in units of 1 / D.
RETABLE_HD std::int64_t KendallFixed(std::int64_t discordant, std::int64_t pairs) {
  return pairs - 2 * discordant;
}

//! Two words' part of the Spearman kernel, the product of two vectors of ranks: two ranks a word.
RETABLE_HD std::int64_t SpearmanPart(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>((a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu) + (a >> 32) * (b >> 32));
}

//! E exp(-lambda n_dis / D) over uniform permutations of d.
double MallowsMean(int d, double lambda);

enum class KernelKind { kMallows, kKendall, kSpearman };

//! "Mallows", "Kendall" or "Spearman". @throws std::invalid_argument for another name.
KernelKind KernelByName(const std::string& name);

//! A kernel as data, for a device: how two codes are compared, and the kernel's exact integer and
//! its value for each outcome.
struct KernelTables {
  int dimension = 0;
  std::size_t words = 0;  //!< size of a coded order
  //! Spearman: codes are two ranks a word, the kernel is the sum of their products, and the tables
  //! are empty. Otherwise codes are a bit a pair and the tables are by discordant pairs.
  bool by_ranks = false;
  double self = 1;
  std::vector<std::int64_t> fixed;
  std::vector<double> value;
};

//! A kernel for orders of one length.
class PermutationKernel {
 public:
  //! @throws std::invalid_argument for lambda negative or not finite, or more than 23170 players of
  //! the Mallows kernel.
  PermutationKernel(KernelKind kind, double lambda, int d);

  int dimension() const { return d_; }
  std::size_t words() const { return words_; }  //!< size of a coded order
  //! Codes an order for Fixed and Value.
  void Encode(std::span<const std::int32_t> order, std::span<std::uint64_t> code) const;
  //! All orders of a sample, coded one after the other.
  std::vector<std::uint64_t> EncodeAll(const PermutationSample& sample) const;

  std::int64_t Fixed(const std::uint64_t* a, const std::uint64_t* b) const;
  double Value(const std::uint64_t* a, const std::uint64_t* b) const;
  double Self() const { return self_; }  //!< K(s, s)
  double Mean() const { return mean_; }  //!< E K(s, U)
  //! All of it as data: Fixed and Value by table. O(d^2) memory, nothing for Spearman.
  KernelTables Tables() const;

 private:
  KernelKind kind_;
  int d_;
  std::int64_t pairs_;
  std::size_t words_;
  double self_, mean_;
  std::vector<std::int64_t> fixed_;  // Mallows, by n_dis
  std::vector<double> value_;
};

}  // namespace retable::shapley
