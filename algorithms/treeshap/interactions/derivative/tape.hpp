#pragma once
//! @file
//! The ensemble compiled for interaction values of models of few features on the GPU.
//!
//! Derivative form. With K the value of a subtree and D_f its derivative by t_f, both for the
//! sibling recurrence of quadrature/annotated_model.hpp, a node of feature j with right weight r
//! gives
//!
//!     K   = K_left + r (K_right - K_left)
//!     D_f = D_f,left + r (D_f,right - D_f,left)                 for each feature f below
//!     D_j = the same, plus delta e (K_right - K_left)           e = c / D^2
//!     phi_fj += sum_q w_q G delta e (D_f,right - D_f,left)      for each f below but j
//!
//! and phi_f is the sum over q of w_q D_f at the root of the tree: the product rule, applied once
//! and twice to nested convex combinations. Two splits of one path meet once, at the
//! upper one. Work: 3 Q flops for each node and feature *below* it, none at a parent
//! of two leaves; features above it, of which there are two to three times as many, cost nothing.
//! The published kernel runs EXTEND and UNWOUNDSUM again for every feature of every path.
//!
//! Trees are cut into *subtree tiles* as in interactions/ancestor/tape.hpp; a tile takes K and D of
//! the tiles below it.
//!
//! D of a subtree are *vectors* of Q words a lane in shared memory, at indices chosen here: a node
//! updates those of its first child in place. The lowest two levels stay in registers.
//!
//! Layout of a tile, in groups of four words, V = ceil(points / 4) groups for an array of points:
//!   sums     for each interaction, in the order of its slots from 1, its number among
//!            DerivativeTapeSet::sums; then, at the root of a tree, those of the values. Slot 0
//!            takes what no sum needs
//!   weights  quadrature weights[V] and nodes t[V]
//!   factors  one for each path feature: (lower, upper, threshold, feature | flags) of the last
//!            split on it, c (1 - t)[V], to which t is added where the row follows
//!   instructions, each with a head (op | length << 4 | a << 16, w, delta if x >= threshold, delta
//!            if below), both of the second child's weight
//!   kLeafParent    parent of two leaves: a: index of D; w the mean; split, g[V], e[V], these two
//!            times the difference of the leaves
//!   kFork, kForkLeaf  parent of two kLeafParent, of one and a leaf: split, (result, slot of the
//!            first, of the second, value of the leaf), g[V], e[V], the kLeafParent
//!   kDown    to the first child; a: slot of the stack; split, g[V]
//!   kMid     to the second; a: slot | index of the first child's K << kIndexShift; g[V]
//!   kUp, kUpLeafParent, kUpLeaf, kUpTile  both done, the second a kLeafParent, a leaf, a tile
//!            below; a as before: (result, both | first << 8 | second << 16, slot of the second's,
//!            value of the leaf or the tile's vector), g[V], e[V], the kLeafParent, then vectors of
//!            both children (first, second, slot, -), of the first alone two a group (index, slot,
//!            index, slot), of the second alone; those of a tile are read where it left them:
//!            (index, vector, slot, -)
//!   kTile    a tile below: (head, its vector, number of D, -), indices of its D
//!   kValues  at the root of a tree: (head, -, number, -), indices
//!   kLeave   at that of another tile: (head, -, number, -), indices of D for the tile above
//!   kEnd
//! Indices are in units of 128 bytes, times 128; so are features, and slots, which count down. A
//! result with kAdds is added to what is there. The length is there so that the next head can be
//! read ahead.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/interactions/common/tuning.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

namespace derivatives {

enum Op : std::int32_t {
  kLeafParent,
  kFork,
  kForkLeaf,
  kDown,
  kMid,
  kUp,
  kUpLeafParent,
  kUpLeaf,
  kUpTile,
  kTile,
  kValues,
  kLeave,
  kEnd
};

inline constexpr std::int32_t kMostFeatures = 16;  //!< features of a model: all x are kept
inline constexpr int kMostStackSlots = 16;         //!< 32 bits hold two for each slot
inline constexpr std::uint32_t kIndexShift = 5;    //!< bits of a slot's number
inline constexpr std::uint32_t kColumn = 128;      //!< bytes of one word of 32 lanes
inline constexpr std::uint32_t kAdds = 1;
inline constexpr std::uint32_t kBelow =
    1u << 27;  //!< flag of a factor: the row follows where x < threshold

}  // namespace derivatives

struct DerivativeTile : TapeTile {  // its results are vectors
  std::uint32_t values = 0;         //!< sums of values, listed behind the interactions
  std::uint32_t out = 0;            //!< first vector that it leaves: K, then D
};

//! Maxima over the tiles of a tape.
struct DerivativeSizes {
  std::uint32_t words = 0, columns = 0, slots = 0;
  std::uint32_t features = 0;  //!< model features, each with a column of x
};

//! All trees, or passes of trees, of one number of points.
struct DerivativeTape {
  int points = 4;
  std::vector<Float4> words;
  std::vector<DerivativeTile> tiles;  //!< a tile comes after those below it
  std::uint32_t vectors = 0;          //!< vectors that tiles leave for those above
  DerivativeSizes sizes;
};

struct DerivativeTapeSet {
  std::vector<DerivativeTape> tapes;
  std::vector<InteractionSum> sums;  //!< ascending
  std::vector<std::uint32_t> sets;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

struct DerivativeOptions {
  std::int32_t tile_leaves = tuning::kDerivativeTileLeaves;     //!< most leaves of a tile
  std::uint32_t tile_columns = tuning::kDerivativeTileColumns;  //!< most columns of a tile
};

//! Compiles passes of 4, 6 and 8 points. @throws std::invalid_argument where the model has more
//! than derivatives::kMostFeatures features.
DerivativeTapeSet CompileDerivatives(const AnnotatedModel& model, const DerivativeOptions& options);

}  // namespace retable::treeshap
