#pragma once
//! @file
//! Whether a sampler gave what it was asked for: n permutations of d players, weights of sum one.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "experiments/common/adapters.hpp"

namespace retable::experiments {

//! Rows that do not hold every player once, and one each for another number of rows or of weights
//! and for weights of another sum. Of such a sample nothing more may be asked: its players are
//! places of arrays.
inline std::int64_t Broken(const shapley::PermutationSample& sample, std::size_t n, int d) {
  if (sample.dimension != d || sample.orders.size() != n * static_cast<std::size_t>(d)) return 1;
  std::int64_t broken = 0;
  std::vector<char> seen;
  for (std::size_t i = 0; i < n; ++i) {
    seen.assign(static_cast<std::size_t>(d), 0);
    bool whole = true;
    for (const std::int32_t player : sample.order(i)) {
      whole = whole && player >= 0 && player < d && seen[static_cast<std::size_t>(player)]++ == 0;
    }
    broken += whole ? 0 : 1;
  }
  if (sample.weights.empty()) return broken;
  const double sum = std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0);
  return broken + (sample.weights.size() == n && std::abs(sum - 1) < 1e-6 ? 0 : 1);
}

//! The check of what Broken() counted.
inline harness::Verification NoneBroken(std::int64_t broken) {
  return AtMost("rows that are no permutation, wrong numbers of rows, weights not of sum one",
                static_cast<double>(broken), 0, "definition");
}

}  // namespace retable::experiments
