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
//! Trees are cut into *parts*: subtrees of bounded size without the parts below them. A part needs
//! two things of the rest of its tree: G and the features followed at its root, which one factor
//! for each feature of the path gives, and K of the parts below it. So many warps share a tree: a
//! part can begin when those below it have ended, and those from which the way to the root is
//! longest begin first. A part adds up the pairs that meet in it, in slots of its own.
//!
//! Subtrees at the bottom may be units shared by rows, as for values
//! (quadrature/sharing/subtrees.hpp): a part whose lanes are classes of rows, and whose K and sums
//! go into a table.
//!
//! Path features get positions in order of first occurrence; a lane keeps one bit for each: whether
//! its row follows. A ratio belongs to a *state*, one side of one split; the states that meet a
//! partner in the part are tabulated at its head.
//!
//! Layout of a part, in groups of four words, V = ceil(points / 4) groups for an array of points:
//!   lists    its features, four a group, then its pairs in the order of their slots, as numbers of
//!            PairTapeSet::sums
//!   states   (1 - c) / D, V groups each
//!   cold     -1 / (1 - t)[V]
//!   factors  one for each path feature: (lower, upper, threshold, feature | flags) of the last
//!            split on it, hot[V], cold[V]
//!   kLeafParent, kDown, kMid, kUp, kUpLeaf
//!            (op, slot of the stack, partners | slot of the value << 16, position | second is
//!            above << 8); kLeafParent and kDown: (lower, upper, threshold, place of the feature in
//!            the part's list | flags); (delta if x >= threshold, delta if below, w, v of the
//!            second leaf), g[V]; all but kDown and kMid: e[V] and a word for each partner:
//!            position | slot of the pair << 7 | state << 18; kLeafParent: e times (second - first)
//!            and w the mean, g times the difference
//!   kShared  (op, unit, pairs, groups of a class), a word for each pair: its slot << 7
//!   kPart    (op, number of a part below)
//!   kEnd
//! With op stands the operation's length, << 8, so that the next one can be read ahead.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

namespace pairs {

enum Op : std::int32_t {
  kLeafParent,
  kDown,    // to the first child
  kMid,     // first child done, to the second
  kUp,      // second child done
  kUpLeaf,  // first child done, the second is a leaf
  kShared,
  kPart,
  kEnd
};

inline constexpr int kMaxPositions = 63;
inline constexpr int kFewPositions = 32;  //!< a mask of 32 bits holds them
inline constexpr int kMostSlots = 20;     //!< of a part's stack
inline constexpr std::uint32_t kSumShift = 7, kStateShift = 18;
inline constexpr std::uint32_t kSumMask = ((1u << kStateShift) - 1) & ~((1u << kSumShift) - 1);
inline constexpr std::uint32_t kBelow = 1u << 27;  //!< a factor's: follows where x < threshold

}  // namespace pairs

//! Index of the unordered pair (a, b); (a, a) is a's value.
RETABLE_HD std::uint32_t PairIndex(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t high = a > b ? a : b;
  const std::uint32_t low = a > b ? b : a;
  return high * (high + 1) / 2 + low;
}

//! A part as the device sees it; its number is its place in the list.
struct PairPart {
  std::uint32_t group = 0;
  std::uint32_t first_word = 0;
  std::uint32_t words = 0;
  std::uint32_t features = 0;
  std::uint32_t pairs = 0;
  std::uint32_t states = 0;
  std::uint32_t factors = 0;
  std::uint32_t below = 0;        //!< parts whose K it takes
  std::uint32_t above = kNoPart;  //!< the part that takes its K

  static constexpr std::uint32_t kNoPart = ~0u;
};

//! The most that one of some parts needs.
struct PairSizes {
  std::uint32_t words = 0, pairs = 0, features = 0, slots = 0;
  std::uint32_t shared_slots = 0;  //!< of the stack, in shared memory: chosen by the launch
};

//! All trees, or passes of trees, of one number of points.
struct PairTape {
  int points = 4;
  bool wide = false;  //!< positions beyond kFewPositions
  std::vector<Float4> words;
  std::vector<PairPart> parts;  //!< in the order to begin in: those below come before
  PairSizes sizes, unit_sizes;
  std::vector<SharedSubtree> units;  //!< what grouping needs of each
  std::vector<PairPart> unit_parts;  //!< and their tapes, in:
  std::vector<Float4> unit_words;
  std::vector<std::uint32_t> unit_keys;
  std::uint32_t most_key_words = 0;
  std::size_t unit_width = 0;  //!< groups of four words of a class, of all units together
};

//! A sum of a row: of an output and a pair of features that meet on one of its paths. Only features
//! of one path interact.
struct PairSum {
  std::uint32_t group, high, low;  //!< high = low: the feature's value
};

struct PairTapeSet {
  std::vector<PairTape> tapes;
  std::vector<PairSum> sums;  //!< rising
  std::vector<std::uint32_t> sets;
  RankTable ranks;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

struct PairOptions {
  std::int32_t unit_leaves = 0;   //!< largest unit shared by rows; 0: none
  std::int32_t part_leaves = 32;  //!< largest part, about
  std::uint32_t part_pairs = 56;  //!< and of its pairs: their sums bound the warps at work
};

//! Compiles passes of 4, 6 and 8 points. @throws std::invalid_argument where a path has more than
//! kMaxPositions distinct features or the model more pairs than an index holds.
PairTapeSet CompilePairs(const AnnotatedModel& model, const PairOptions& options);

}  // namespace retable::treeshap
