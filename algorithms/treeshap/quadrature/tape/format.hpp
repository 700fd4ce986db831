#pragma once
//! @file
//! The tape's format: quadrature/tape/compiler.hpp writes it, quadrature/tape/interpreter.hpp runs
//! it.
//!
//! Layout, in groups of four words. An instruction starts with (op, slot of G | slot of K << 16,
//! next op, next slots): the next instruction is known before this one ends. A node record is
//!   (lower, upper, threshold, feature | flags), (delta if x >= threshold, delta if below, w, v),
//!   g[Q], e[Q], padding
//! with w the second child's weight and v its value where it is a leaf; for a leaf parent w is the
//! mean and g, e are multiplied by the difference of the two leaves. A shared subtree
//! (quadrature/sharing/subtrees.hpp, quadrature/sharing/subtree_deduplication.hpp) is
//!   (subtree, own features, groups of four words of a class, where K stands), own features' words,
//! four a group; none of them where the contributions are added elsewhere. A subtree's own tapes,
//! one for each merged subtree, follow one another:
//!   (groups of the next one's tape or 0, path features, where K goes, 0), for each feature of the
//!   path to its root (lower, upper, 0, feature | flags), 0, hot[Q], cold[Q], padding: the factor
//!   of G where the row is inside, and where it is not; instructions.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/quadrature/tuning.hpp"

namespace retable::treeshap {

struct alignas(16) Float4 {
  float x, y, z, w;
};

inline float Word(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

//! Appends a list of numbers of four bytes, the last group filled up with zeros.
template <class List>
void Words(const List& list, std::vector<Float4>& words) {
  const auto bytes = std::as_bytes(std::span(list));
  const std::size_t first = words.size();
  words.resize(first + (bytes.size() + sizeof(Float4) - 1) / sizeof(Float4));
  std::ranges::copy(bytes, reinterpret_cast<std::byte*>(words.data() + first));
}

namespace tape {

// Treelet shapes: L leaf, P both children leaves, A = (P, L), B = (P, P); then pairs of these.
enum Op : std::int32_t {
  kP,
  kA,
  kB,
  kAL,
  kBL,
  kAP,
  kBP,
  kAA,
  kBA,
  kBB,
  kFork,         // a node with two shared subtrees: K and contributions from their tables
  kUpShared,     // first child done, the second is a shared subtree
  kForkLeaf,     // a shared subtree and a leaf
  kForkTreelet,  // a shared subtree first: push G, K of it in registers, to the second, a treelet
  kShared,       // a shared subtree alone
  kDown,         // push G, go to the first child
  kMid,          // first child done: push K, go to the second child with the G in the slot
  kUp,           // second child done
  kMidTreelet,   // as kMid, K kept in registers: the second child is one treelet
  kUpTreelet,
  kUpLeaf,    // first child done, the second is a leaf
  kNextTree,  // G becomes 1
  kFold,      // add phi to the double sums, G becomes 1; head.y of them, listed behind the head
  kSpill,     // write head.y slots, listed behind the head, to a column each, and clear them
  kNextChunk,
  kEnd
};

inline constexpr std::uint32_t kFeatureMask = 0x00ffffffu;
//! With more than kPerFeatureLimit features a float sum has an accumulator slot
//! (quadrature/tape/accumulators.hpp): the lower bits are the feature, those above the slot.
inline constexpr std::uint32_t kSlottedFeatureMask = 0x1ffffu;
inline constexpr std::uint32_t kSlotShift = 17, kSlotMask = 0x7fu;
inline constexpr std::uint32_t kMissingInside = 1u << 24;
inline constexpr std::uint32_t kMissingAbove = 1u
                                               << 25;  // a missing value counts as x >= threshold
inline constexpr std::uint32_t kCategorical = 1u << 26;
//! Where K stands of a shared subtree whose K nobody needs.
inline constexpr std::uint32_t kNoK = ~0u;

//! Groups of four words of a node record with Q points.
constexpr int RecordSize(int points) {
  return (8 + 2 * points + 3) / 4;
}

inline constexpr int kChunk = 256;  //!< groups of four words: 4 KiB

}  // namespace tape

//! Where float sums are kept.
enum class AccumulatorLayout {
  kPerFeature,  //!< a sum for each feature
  kSlots        //!< accumulator slots, allocated by next use
};

inline AccumulatorLayout ChooseAccumulatorLayout(std::int32_t features) {
  return features <= kPerFeatureLimit ? AccumulatorLayout::kPerFeature : AccumulatorLayout::kSlots;
}

}  // namespace retable::treeshap
