#pragma once
//! @file
//! A tree ensemble compiled to a linear tape for quadrature tree SHAP with rows as lanes.
//!
//! Every lane holds a row (or two) and reads the same tape in order, so control flow and constants
//! are uniform: no shuffles, no ballots, no division. A subtree of height at most three is one
//! instruction, a treelet: its shape is known to the compiler, all of its state lives in registers
//! and its constants load ahead of use. Only larger nodes keep G and K on a stack, one slot for G
//! while a child is visited and one for K of the first child; the deeper child goes first, which
//! keeps the stack short. Children may be visited in either order, so a node stores delta's two
//! values and the weight of its second child, and ten unordered shapes cover all subtrees up to
//! height three.
//!
//! Contributions are sums over quadrature points, so a tree that needs more points than a pass
//! holds is written as several passes over different points. The tape is cut into chunks of a fixed
//! size, no instruction across a border, so that chunks can be copied ahead into shared memory.
//!
//! Slots are numbered from the bottom of the tree: a node's slots lie above those of its children.
//! Low slots are used most by far, and an implementation may keep the high ones in slower memory.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtree_deduplication.hpp"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "algorithms/treeshap/quadrature/tape/format.hpp"
#include "base/memory/large_memory.hpp"

namespace retable::treeshap {

//! Trees of one output and one number of points, one after the other.
struct TapeSegment {
  std::int32_t group = 0;
  std::size_t first_chunk = 0;
  std::size_t chunks = 0;
  std::size_t first_subtree = 0;  //!< first of the subtrees that no earlier segment uses
  std::size_t subtrees = 0;
  std::uint32_t batch = 0;  //!< subtrees are like those of their batch alone
  //! kPerFeature: features its trees split, ascending. kSlots: features of the columns it writes.
  std::vector<std::int32_t> features;
};

struct TapeSizes {
  int points = 4;
  int stack_slots = 0;                  //!< stack slots needed
  std::uint32_t accumulator_slots = 0;  //!< accumulator slots in use
  // Of subtrees.
  int subtree_stack_slots = 0;
  std::uint32_t max_subtree_features = 0, max_key_words = 0, max_subtree_words = 0;
};

//! All trees (or passes of trees) with `points` quadrature points.
struct Tape : TapeSizes {
  LargeArray<Float4> words;                     //!< whole chunks
  std::vector<TapeSegment> segments;            //!< each ends with kEnd and can run alone
  std::vector<SharedSubtree> subtrees;          //!< ordered by first use
  LargeArray<Float4> subtree_words;             //!< tapes of the subtrees, merged ones together
  std::vector<std::uint32_t> subtree_features;  //!< their lists of features
  std::vector<std::uint32_t> subtree_keys;      //!< their key programs
};

struct TapeSet {
  std::vector<Tape> tapes;          //!< one per number of points in use
  std::vector<std::uint32_t> sets;  //!< category sets: count | others << 31, words...
  std::int32_t features = 0;
  std::int32_t groups = 1;
  AccumulatorLayout layout = AccumulatorLayout::kPerFeature;
  RankTable ranks;  //!< empty where no subtree is planned
};

//! How trees are split into passes of supported sizes.
struct TapeOptions {
  //! Sizes of a pass, ascending; trees of more points than the largest take several.
  std::vector<int> points = {2, 3, 4, 6, 8};
  std::size_t segment_words = 1u << 18;  //!< close a segment after this many groups of four words
  std::int32_t subtree_leaves = 0;       //!< largest subtree shared by rows; 0: none
  std::size_t batch_width = ~std::size_t{0};  //!< groups of four words of a row in all tables
  //! Accumulator slots, unless one instruction needs more; 0: chosen.
  std::uint32_t accumulator_slots = 0;
};

//! Compiles the model. @throws std::invalid_argument for more than 2^17 features.
TapeSet CompileTapes(const AnnotatedModel& model, const TapeOptions& options);

//! The passes of a tree that needs `points`, by their sizes, ascending: {8, 6} for 14 and {4, 6,
//! 8}.
std::vector<int> Passes(int points, const std::vector<int>& sizes);

//! A split as interpreters read it: (lower, upper, threshold, feature | flags), or offsets of sets
//! in place of the bounds.
Float4 SplitWords(const AnnotatedNode& at, const std::vector<std::uint32_t>& sets,
                  std::uint32_t feature);

}  // namespace retable::treeshap
