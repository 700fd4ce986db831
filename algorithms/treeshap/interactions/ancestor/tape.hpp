#pragma once
//! @file
//! The ensemble compiled for interaction values on the GPU.
//!
//! Ancestor form: at a node of feature f the value's integrand e_q (its sum over q is the node's
//! part of phi_f) is multiplied, for each other feature j of the path above, by (h_j - c_j) /
//! u_j(t_q): (1 - c_j) / D_j where the row follows all splits on j so far, -1 / (1 - t_q) where it
//! does not. The second case does not depend on j, so a partner costs one dot product of Q terms.
//! Work: the sum over nodes of Q times (7 + live features); the published kernel runs EXTEND and
//! UNWOUNDSUM again for every feature of every path.
//!
//! Trees are cut into *subtree tiles*: subtrees of bounded size without the tiles below them. A
//! tile needs two things of the rest of its tree: G and the features followed at its root, which
//! one factor for each feature of the path gives, and K of the tiles below it. Many warps so work
//! on one tree: a tile can begin when those below it have ended, and tiles with the longest way to
//! the root begin first. A tile adds up the interactions that meet in it, in slots of its own.
//!
//! Subtrees at the bottom may be shared (quadrature/sharing/subtrees.hpp): then a tile's lanes are
//! row classes, and its K and sums go into a table.
//!
//! Path features get positions in order of first occurrence; a lane keeps one bit for each: whether
//! its row follows. A ratio belongs to a *state*, one side of one split; the states that meet a
//! partner in the tile are tabulated at its head.
//!
//! Layout of a tile, in groups of four words, V = ceil(points / 4) groups for an array of points:
//!   lists    its features, four a group, then for each interaction, in the order of the slots,
//!            its number among InteractionTapeSet::sums
//!   states   (1 - c) / D, V groups each
//!   cold     -1 / (1 - t)[V]
//!   factors  one for each path feature: (lower, upper, threshold, feature | flags) of the last
//!            split on it, hot[V], cold[V]
//!   kLeafParent, kDown, kMid, kUp, kUpLeaf
//!            (op, slot of the stack, partners | slot of the value << 16, position | second is
//!            above << 8); kLeafParent and kDown: (lower, upper, threshold, index of the feature in
//!            the tile's list | flags); (delta if x >= threshold, delta if below, w, v of the
//!            second leaf), g[V]; all but kDown and kMid: e[V] and a word for each partner:
//!            position | slot of the sum << 7 | state << 18; kLeafParent: e times (second - first)
//!            and w the mean, g times the difference
//!   kShared  (op, shared subtree, interactions, groups of a row class), a word for each
//!            interaction: its slot << 7
//!   kTile    (op, number of a tile below)
//!   kEnd
//! The head's first word is op | length << 8, so that the next instruction can be read ahead.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/interactions/common/tuning.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

namespace ancestor {

enum Op : std::int32_t {
  kLeafParent,
  kDown,    // to the first child
  kMid,     // first child done, to the second
  kUp,      // second child done
  kUpLeaf,  // first child done, the second is a leaf
  kShared,
  kTile,
  kEnd
};

inline constexpr int kMaxPositions = 63;
inline constexpr int kFewPositions = 32;    //!< a mask of 32 bits holds them
inline constexpr int kMostStackSlots = 20;  //!< slots of a tile's stack
inline constexpr std::uint32_t kSumShift = 7, kStateShift = 18;
inline constexpr std::uint32_t kSumMask = ((1u << kStateShift) - 1) & ~((1u << kSumShift) - 1);
inline constexpr std::uint32_t kBelow =
    1u << 27;  //!< flag of a factor: the row follows where x < threshold

}  // namespace ancestor

struct InteractionTile : TapeTile {  // its result is K
  std::uint32_t features = 0;
  std::uint32_t states = 0;
};

//! Maxima over the tiles of a tape.
struct InteractionSizes {
  std::uint32_t words = 0, interactions = 0, features = 0, slots = 0;
  std::uint32_t shared_slots = 0;  //!< stack slots in shared memory, chosen by the launch

  //! The larger of both.
  void Take(const InteractionSizes& other) {
    words = std::max(words, other.words);
    interactions = std::max(interactions, other.interactions);
    features = std::max(features, other.features);
    slots = std::max(slots, other.slots);
  }
};

//! All trees, or passes of trees, of one number of points.
struct InteractionTape {
  int points = 4;
  bool wide = false;  //!< positions beyond kFewPositions
  std::vector<Float4> words;
  std::vector<InteractionTile> tiles;  //!< a tile comes after those below it
  InteractionSizes sizes, subtree_sizes;
  std::vector<SharedSubtree> subtrees;  //!< what the grouping of rows reads
  std::vector<InteractionTile> subtree_tiles;
  std::vector<Float4> subtree_words;
  std::vector<std::uint32_t> subtree_keys;
  std::uint32_t most_key_words = 0;
  std::size_t subtree_width = 0;  //!< groups of four words of a row class, over all subtrees
};

struct InteractionTapeSet {
  std::vector<InteractionTape> tapes;
  std::vector<InteractionSum> sums;  //!< ascending
  std::vector<std::uint32_t> sets;
  RankTable ranks;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

struct InteractionOptions {
  std::int32_t subtree_leaves = 0;                              //!< most leaves shared; 0: none
  std::int32_t tile_leaves = tuning::kTileLeaves;               //!< most leaves of a tile
  std::uint32_t tile_interactions = tuning::kTileInteractions;  //!< most interactions of a tile
};

//! Compiles passes of 4, 6 and 8 points. @throws std::invalid_argument where a path has more than
//! kMaxPositions distinct features or the model more interactions than an index holds.
InteractionTapeSet CompileInteractions(const AnnotatedModel& model,
                                       const InteractionOptions& options);

}  // namespace retable::treeshap
