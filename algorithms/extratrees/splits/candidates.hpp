#pragma once
//! @file
//! Which of the drawn features a node evaluates. Features are drawn by a lazily resolved
//! Fisher-Yates permutation in chunks of at most 32 (a warp's lanes on the GPU); a bit of `mask`
//! says that the lane's feature is not constant in the node. Bit arithmetic alone, so that the
//! GPU's choice is tested on the CPU against the sequential rule.

#include <cstdint>

#include "base/cuda/host_device.hpp"

namespace retable::extratrees {

//! Draws of the chunk that starts at draw `first`: K is a chunk boundary under scikit-learn's rule.
RETABLE_HD std::uint32_t ChunkWidth(bool geurts, std::uint32_t k, std::uint32_t features,
                                    std::uint32_t first) {
  std::uint32_t end = first + 32;
  if (!geurts && first < k && k < end) end = k;
  return (end < features ? end : features) - first;
}

//! The lanes of a chunk to evaluate, `seen` candidates having been evaluated before it.
RETABLE_HD std::uint32_t EvaluatedLanes(bool geurts, std::uint32_t k, std::uint32_t first,
                                        std::uint32_t seen, std::uint32_t mask) {
  if (!geurts) {
    if (first < k) return mask;
    return seen == 0 ? mask & (0u - mask) : 0u;  // the first that is not constant
  }
  std::uint32_t chosen = 0;
  while (mask != 0 && seen < k) {
    const std::uint32_t lowest = mask & (0u - mask);
    chosen |= lowest;
    mask ^= lowest;
    ++seen;
  }
  return chosen;
}

//! Whether the search is over once draws [0, next) are done and `seen` candidates were evaluated.
RETABLE_HD bool SearchIsOver(bool geurts, std::uint32_t k, std::uint32_t features,
                             std::uint32_t next, std::uint32_t seen) {
  if (next >= features) return true;
  return geurts ? seen >= k : next >= k && seen > 0;
}

//! Draw k with replacement among the valid features: a draw number no permutation step uses.
RETABLE_HD std::uint32_t ReplacementDraw(std::uint32_t k) {
  return 0x80000000u | k;
}

}  // namespace retable::extratrees
