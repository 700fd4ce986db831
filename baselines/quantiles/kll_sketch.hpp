#pragma once
//! @file
//! KLL: the quantile sketch of Karnin, Lang and Liberty, its first (mergeable) algorithm.
//!
//! Problem: quantiles with a rank error of O(1/m) in m numbers, whatever the distribution.
//! Approach: a stack of compactors. The one at height h holds values of weight 2^h; when it is full
//! it sorts them, a coin keeps those of odd or of even rank, and they move up one height.
//! Capacities shrink by 2/3 a level downwards from the top: the top levels decide the error. Below
//! the height where a capacity would fall under 2, a sampler replaces the lower
//! compactors: of every 2^h values it passes on one, chosen uniformly.
//!
//! `m` bounds the values of the whole summary, the sampler's included: the top capacity is the
//! largest with which all levels fit into m.
//!
//! Coins come from a seeded counter-based generator: answers do not depend on how a stream is
//! divided into updates. Complexity: O(log m) amortised a value, O(m log m) a query. Memory m
//! values and their levels. Infinite values are values. Source: Karnin, Lang, Liberty, "Optimal
//! quantile approximation in streams", FOCS 2016, sections 3 and 4.

#include <cstdint>
#include <memory>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

//! What the publication leaves open.
struct KllRule {
  double shrink;  //!< capacity of a compactor over that of the next above, in (0.5, 1)
  //! A compactor compacts as soon as it is full, as published; otherwise the lowest full one does
  //! only when the whole summary is full.
  bool eager;
  bool operator==(const KllRule&) const = default;
};
inline constexpr KllRule kLazyKll{2.0 / 3.0, false};
//! The shrink under which the published errors come out (docs/lab/quantiles/016).
inline constexpr KllRule kPaperKll{0.875, true};

//! @throws std::invalid_argument unless m >= 6 and 0.5 < shrink < 1.
std::unique_ptr<QuantileSketch> MakeKllSketch(std::int64_t m, std::uint64_t seed,
                                              KllRule rule = kLazyKll);

}  // namespace retable::quantiles
