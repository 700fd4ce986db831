#pragma once
//! @file
//! Which features a warp (or a block of them) tries in a node, whatever the targets are. A grower
//! has `p`, `task`, `lane` and
//!   Range Scan(feature)                                   codes of each lane's feature in the node
//!   bool Varies(feature, range)                           whether a cut can separate anything
//!   void Evaluate(candidate, range, chosen lanes, best)   tries cuts, keeps the best

#include "algorithms/extratrees/frontier/cuda/node.cuh"

namespace retable::extratrees::frontier {

//! Codes of a lane's feature in a node. Nothing but missing values: low > high.
struct Range {
  std::uint32_t low, high;
  bool missing;
};

//! Draws of a permutation, in chunks of a warp, under scikit-learn's rule or Geurts's.
template <class Grower, class Best>
__device__ void SearchPermutation(const Grower& g, Best& best) {
  const bool geurts = g.p.rules.constant_rule == ConstantRule::kGeurts;
  std::uint32_t seen = 0;
  for (std::uint32_t start = 0;;) {
    const std::uint32_t width = ChunkWidth(geurts, g.p.sizes.k, g.p.sizes.features, start);
    const Candidate candidate = DrawFeatures(g.p.rules.seed, g.p.sizes.first_tree + g.task.tree,
                                             g.task.path, start, width, g.p.sizes.features);
    const Range range = g.Scan(candidate.feature);
    const bool varies = g.lane < width && g.Varies(candidate.feature, range);
    const std::uint32_t mask = __ballot_sync(kAll, varies);
    const std::uint32_t chosen = EvaluatedLanes(geurts, g.p.sizes.k, start, seen, mask);
    if (chosen != 0) g.Evaluate(candidate, range, chosen, best);
    seen += static_cast<std::uint32_t>(__popc(chosen));
    start += width;
    if (SearchIsOver(geurts, g.p.sizes.k, g.p.sizes.features, start, seen)) return;
  }
}

template <class Grower>
__device__ std::uint32_t ValidLanes(const Grower& g, std::uint32_t start) {
  const std::uint32_t feature = start + g.lane;
  const bool exists = feature < g.p.sizes.features;
  const Range range = g.Scan(exists ? feature : start);
  return __ballot_sync(kAll, exists && g.Varies(feature, range));
}

//! The report's rule: all features are scanned, then K draws with replacement among the valid.
template <class Grower, class Best>
__device__ void SearchReplacement(const Grower& g, Best& best) {
  std::uint32_t valid = 0;
  for (std::uint32_t start = 0; start < g.p.sizes.features; start += 32) {
    valid += static_cast<std::uint32_t>(__popc(ValidLanes(g, start)));
  }
  for (std::uint32_t k = 0; k < g.p.sizes.k && valid > 0; k += 32) {
    const std::uint32_t width = min(32u, g.p.sizes.k - k);
    const PhiloxBlock bits = NodeBits(g.p.rules.seed, g.p.sizes.first_tree + g.task.tree,
                                      g.task.path, ReplacementDraw(k + g.lane));
    const auto target = static_cast<std::uint32_t>(UniformBelow(bits.half(0), valid));
    Candidate candidate{0, bits.half(1)};
    std::uint32_t base = 0;
    for (std::uint32_t start = 0; start < g.p.sizes.features; start += 32) {
      const std::uint32_t mask = ValidLanes(g, start);
      const auto here = static_cast<std::uint32_t>(__popc(mask));
      if (target >= base && target < base + here) {
        candidate.feature = start + __fns(mask, 0, static_cast<int>(target - base) + 1);
      }
      base += here;
    }
    const Range range = g.Scan(candidate.feature);
    const std::uint32_t chosen = width == 32 ? kAll : (1u << width) - 1;
    g.Evaluate(candidate, range, chosen, best);
  }
}

template <class Grower, class Best>
__device__ void Search(const Grower& g, Best& best) {
  if (g.p.rules.constant_rule == ConstantRule::kPublished) {
    SearchReplacement(g, best);
  } else {
    SearchPermutation(g, best);
  }
}

}  // namespace retable::extratrees::frontier
