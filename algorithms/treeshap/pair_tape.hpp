#pragma once
//! @file
//! The ensemble compiled for interaction values on the GPU.
//!
//! Ancestor form: at a node of feature f the value's integrand e_q (its sum over q is the node's
//! part of phi_f) is multiplied, for each other feature j of the path above, by (h_j - c_j) /
//! u_j(t_q): (1 - c_j) / D_j where the row follows all splits on j so far, -1 / (1 - t_q) where it
//! does not. The second case does not depend on j, so a partner costs one dot product of Q terms.
//! The value itself is one more partner, with ratio 1.
//! Work: the sum over nodes of Q times (7 + live features); the published kernel runs EXTEND and
//! UNWOUNDSUM again for every feature of every path.
//!
//! Subtrees are units shared by rows, as for values (shared_units.hpp): a unit gives K and one sum
//! for each pair of a feature that it splits with a feature that it splits or has on its path.
//!
//! Path features get positions in order of first occurrence; a lane keeps one bit for each: whether
//! its row follows. Ratios depend on the path alone, so they are on the tape.
//!
//! Layout, in groups of four words, V = ceil(points / 4) groups for an array of points:
//!   kBegin   (op), -1 / (1 - t)[V]
//!   nodes    (op, slot, partners, position | second is above << 8), (lower, upper, threshold,
//!            feature | flags), (delta if x >= threshold, delta if below, w, v of the second leaf),
//!            g[V]; all but kDown and kMid: e[V] and for each four partners their places (index of
//!            the pair | position << 26) and their ratios, V each; kLeafParent: e times (second -
//!            first) and w the mean, g times the difference
//!   kShared  (op, unit, pairs, groups of a class), four pairs' indices in each group
//! A unit's own tape: -1 / (1 - t)[V]; for each feature of its path (lower, upper, 0, feature |
//! flags), hot[V], cold[V]; operations. There a pair's index counts the unit's pairs.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature_model.hpp"
#include "algorithms/treeshap/quadrature_tape.hpp"
#include "algorithms/treeshap/shared_units.hpp"

namespace retable::treeshap {

namespace pairs {

enum Op : std::int32_t {
  kBegin,
  kLeafParent,
  kDown,    // to the first child
  kMid,     // first child done, to the second
  kUp,      // second child done
  kUpLeaf,  // first child done, the second is a leaf
  kShared,
  kEndTree,
  kEnd
};

inline constexpr int kMaxPositions = 63;
inline constexpr std::uint32_t kSelf = 63;  //!< a position that every row follows
inline constexpr std::uint32_t kIndexBits = 26;
inline constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;

}  // namespace pairs

//! Index of the unordered pair (a, b); (a, a) is a's value.
RETABLE_HD std::uint32_t PairIndex(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t high = a > b ? a : b;
  const std::uint32_t low = a > b ? b : a;
  return high * (high + 1) / 2 + low;
}

//! Pairs of a unit: own features with each other and themselves, then each with those of the path
//! alone.
constexpr std::uint32_t UnitPairs(std::uint32_t own, std::uint32_t features) {
  return own * (own + 1) / 2 + own * (features - own);
}

//! Trees of one output.
struct PairSegment {
  std::uint32_t group = 0;
  std::uint32_t first_word = 0;
  std::uint32_t first_unit = 0;
  std::uint32_t units = 0;
};

struct PairTape {
  int points = 4;
  std::vector<Float4> words;
  std::vector<PairSegment> segments;  //!< one per tree pass
  int slots = 0;
  std::vector<Unit> units;
  std::vector<Float4> unit_words;
  std::vector<std::uint32_t> unit_features;
  std::vector<std::uint32_t> unit_keys;
  int unit_slots = 0;
  std::uint32_t most_unit_features = 0, most_unit_pairs = 0, most_key_words = 0;
  std::uint32_t most_unit_words = 0;
};

struct PairTapeSet {
  std::vector<PairTape> tapes;
  std::vector<std::uint32_t> sets;
  RankTable ranks;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

//! Compiles passes of 4, 6 and 8 points. @throws std::invalid_argument where a path has more than
//! kMaxPositions distinct features or the model more pairs than an index holds.
PairTapeSet CompilePairs(const AnnotatedModel& model, std::int32_t unit_leaves);

}  // namespace retable::treeshap
