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
//! Path features get positions in order of first occurrence; a lane keeps one bit for each: whether
//! its row follows. Operations refer to node records, so that tables are stored once.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/quadrature_model.hpp"

namespace retable::treeshap {

namespace pairs {

enum Op : std::uint32_t {
  kLeafParent,
  kDown,    // to the first child
  kMid,     // first child done (K in registers), to the second
  kUp,      // second child done
  kUpLeaf,  // first child done, the second is a leaf
  kEndTree,
  kEnd
};

inline constexpr int kMaxPositions = 64;

}  // namespace pairs

//! Row-independent facts of a node; g and e follow in PairTape::tables.
struct PairNode {
  float lower, upper, threshold;           //!< categorical: offsets of the inside and the left set
  std::uint32_t feature;                   //!< with the flags of quadrature_tape.hpp
  float above, below;                      //!< delta for x >= threshold, x < threshold
  float weight;                            //!< of the second child
  float first_value, second_value;         //!< of children that are leaves
  float cover, first_cover, second_cover;  //!< c of the feature at the node and below it
  std::uint32_t position;                  //!< of the feature on the path
  std::uint32_t live;                      //!< features on the path above the node
  std::uint32_t second_above;  //!< 1 where the second child is the one for x >= threshold
  std::uint32_t padding;
};

struct PairOp {
  std::uint32_t code;  //!< op | slot << 8
  std::uint32_t node;
};

//! Trees of one output.
struct PairSegment {
  std::uint32_t group = 0;
  std::uint32_t first_op = 0;
};

struct PairTape {
  int points = 4;
  std::vector<PairNode> nodes;
  std::vector<float> tables;  //!< 2 points for each node: g, e
  std::vector<float> t;       //!< the quadrature nodes of each segment, points each
  std::vector<PairOp> ops;
  std::vector<PairSegment> segments;  //!< one per tree pass
  int slots = 0;
  int positions = 0;
};

struct PairTapeSet {
  std::vector<PairTape> tapes;
  std::vector<std::uint32_t> sets;
  double bound = 0;  //!< sum over trees of the largest |leaf|
};

//! Compiles passes of 4 and 8 points. @throws std::invalid_argument where a path has more than
//! kMaxPositions distinct features.
PairTapeSet CompilePairs(const AnnotatedModel& model);

}  // namespace retable::treeshap
