#pragma once
//! @file
//! The ensemble compiled for interaction values of models of few features on the GPU.
//!
//! Derivative form. With K the value of a subtree and D_f its derivative by t_f, both for the
//! sibling recurrence of quadrature/annotated_model.hpp, a node of feature j with right share r
//! gives
//!
//!     K   = K_left + r (K_right - K_left)
//!     D_f = D_f,left + r (D_f,right - D_f,left)                 for each feature f below
//!     D_j = the same, plus delta e (K_right - K_left)           e = c / D^2
//!     phi_fj += sum_q w_q G delta e (D_f,right - D_f,left)      for each f below but j
//!
//! and phi_f is the sum over q of w_q D_f at the root of the tree: the product rule, applied once
//! and twice to nested convex combinations. Each pair of splits of one path meets once, at the
//! upper of the two. Work: 3 Q operations for each node and feature *below* it, none at a parent
//! of two leaves; features above it, of which there are two to three times as many, cost nothing.
//! The published kernel runs EXTEND and UNWOUNDSUM again for every feature of every path.
//!
//! Trees are cut into *parts*: subtrees of bounded size without the parts below them. A part needs
//! two things of the rest of its tree: G at its root, which one factor for each feature of the path
//! gives, and K and D of the parts below it. So many warps share a tree: a part can begin when
//! those below it have ended, and those from which the way to the root is longest begin first. A
//! part adds up the pairs that meet in it, in slots of its own.
//!
//! D of a subtree are *vectors* of Q words a lane in shared memory, at indices chosen here: a node
//! updates those of its first child in place. The lowest two levels stay in registers.
//!
//! Layout of a part, in groups of four words, V = ceil(points / 4) groups for an array of points:
//!   sums     of its pairs in the order of their slots, as numbers of DerivativeTapeSet::sums, of
//!            which slot 0 is nobody's; then, at the root of a tree, of the features' values
//!   weights  of the points[V], their t[V]
//!   factors  one for each path feature: (lower, upper, threshold, feature | flags) of the last
//!            split on it, c (1 - t)[V], to which t is added where the row follows
//!   operations, each with a head (op | length << 4 | a << 16, w, delta if x >= threshold, delta if
//!            below), both of the second child's share
//!   kPair    parent of two leaves: a: index of D; w the mean; split, g[V], e[V], these two times
//!            the difference of the leaves
//!   kFork, kForkLeaf  parent of two kPair, of one and a leaf: split, (result, slot of the first,
//!            of the second, value of the leaf), g[V], e[V], the kPair
//!   kDown    to the first child; a: slot of the stack; split, g[V]
//!   kMid     to the second; a: slot | index of the first child's K << kIndexShift; g[V]
//!   kUp, kUpPair, kUpLeaf, kUpPart  both done, the second a kPair, a leaf, a part below; a as
//!            before: (result, both | first << 8 | second << 16, slot of the second's, value of the
//!            leaf or the part's vector), g[V], e[V], the kPair, then vectors of both children
//!            (first, second, slot, -), of the first alone two a group (index, slot, index, slot),
//!            of the second alone; those of a part are read where it left them: (index, vector,
//!            slot, -)
//!   kPart    a part below: (head, its vector, number of D, -), indices of its D
//!   kValues  at the root of a tree: (head, -, number, -), indices
//!   kLeave   at that of another part: (head, -, number, -), indices of D for the part above
//!   kEnd
//! Indices are in units of 128 bytes, times 128; so are features, and slots, which count down. A
//! result with kAdds is added to what is there. The length is there so that the next head can be
//! read ahead.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

namespace derivatives {

enum Op : std::int32_t {
  kPair,
  kFork,
  kForkLeaf,
  kDown,
  kMid,
  kUp,
  kUpPair,
  kUpLeaf,
  kUpPart,
  kPart,
  kValues,
  kLeave,
  kEnd
};

inline constexpr std::int32_t kMostFeatures = 16;  //!< of a model: x of all is kept
inline constexpr int kMostSlots = 16;              //!< of a part's stack: two bits each
inline constexpr std::uint32_t kIndexShift = 5;    //!< a slot has so many bits
inline constexpr std::uint32_t kColumn = 128;      //!< bytes of one word of 32 lanes
inline constexpr std::uint32_t kAdds = 1;
inline constexpr std::uint32_t kBelow = 1u << 27;  //!< a factor's: follows where x < threshold

}  // namespace derivatives

//! A part as the device sees it; its number is its place in the list.
struct DerivativePart {
  std::uint32_t group = 0;
  std::uint32_t first_word = 0;
  std::uint32_t words = 0;
  std::uint32_t pairs = 0;
  std::uint32_t values = 0;  //!< behind the pairs
  std::uint32_t factors = 0;
  std::uint32_t out = 0;          //!< first of the vectors it leaves: K, then D
  std::uint32_t below = 0;        //!< parts whose vectors it takes
  std::uint32_t above = kNoPart;  //!< the part that takes its own

  static constexpr std::uint32_t kNoPart = ~0u;
};

//! The most that one of some parts needs.
struct DerivativeSizes {
  std::uint32_t words = 0, columns = 0, slots = 0;
  std::uint32_t features = 0;  //!< of the model, columns of their own
};

//! All trees, or passes of trees, of one number of points.
struct DerivativeTape {
  int points = 4;
  std::vector<Float4> words;
  std::vector<DerivativePart> parts;  //!< in the order to begin in: those below come before
  std::uint32_t vectors = 0;          //!< left by parts for those above
  DerivativeSizes sizes;
};

struct DerivativeTapeSet {
  std::vector<DerivativeTape> tapes;
  std::vector<PairSum> sums;  //!< rising
  std::vector<std::uint32_t> sets;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

struct DerivativeOptions {
  std::int32_t part_leaves = 72;  //!< largest part, about
  //! And of its columns, of 128 bytes a warp: with these fourteen warps are at work.
  std::uint32_t part_columns = 118;
};

//! Compiles passes of 4, 6 and 8 points. @throws std::invalid_argument where the model has more
//! than derivatives::kMostFeatures features.
DerivativeTapeSet CompileDerivatives(const AnnotatedModel& model, const DerivativeOptions& options);

}  // namespace retable::treeshap
