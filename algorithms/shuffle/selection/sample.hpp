#pragma once
//! @file
//! k of n without replacement, in random order, without touching the other n - k.
//!
//! The first k values of a random permutation are such a sample. A bijection gives them one by one:
//! x = 0, 1, ... are mapped and values >= n are dropped until k are found. O(k N / n) expected
//! evaluations, N < 2 max(n, 256); memory k values. Uniform as far as the whitened cipher is.
//! Source: Mitchell et al. 2022, proposition 1.

#include <cstdint>
#include <vector>

namespace retable::shuffle {

//! k distinct values of {0..n-1}: the first k of the permutation that "VarPhilox-mended" gives for
//! (n, seed).
//! @throws std::invalid_argument for k > n, for n > 2^63, and for k values beyond this machine's
//! memory.
std::vector<std::uint64_t> SampleWithoutReplacement(std::uint64_t n, std::uint64_t k,
                                                    std::uint64_t seed);

}  // namespace retable::shuffle
