#pragma once
//! @file
//! Nodes as they lie in device memory.

#include <cstdint>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees::frontier {

//! What prediction reads: 16 bytes, one load. feature == -1: a leaf with its value.
struct alignas(16) HotNode {
  float cut;  //!< the largest float <= threshold: x <= cut iff x <= threshold
  std::int32_t feature;
  std::uint32_t left;   //!< the right child is the next node
  std::uint32_t value;  //!< leaf: class, or kMixed | row of leaf_values; branch: missing goes left
};

//! What only the exported forest needs.
struct NodeFacts {
  double threshold, impurity, weight;
  std::uint32_t samples;  //!< 0: no node, a place that a warp took and did not need
  std::uint32_t spare;
};

//! What predicts, of all trees of a forest.
struct PackedForest {
  std::vector<HotNode> hot;         //!< the root of tree t is node t
  std::vector<double> leaf_values;  //!< forest.classes a row
};
//! O(nodes). @throws std::invalid_argument for a forest of more nodes than 32 bits number.
PackedForest PackTrees(const Forest& forest);

}  // namespace retable::extratrees::frontier
