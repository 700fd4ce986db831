#pragma once
//! @file
//! Nodes as they lie in device memory.

#include <cstdint>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"
#include "base/cuda/host_device.hpp"

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

struct NodeLink {
  std::uint32_t parent;  //!< unset for a root
  std::uint32_t size;    //!< nodes of the subtree
};

struct NodePlace {
  std::uint32_t tree, at;
};

//! Where a node of a pool stands in its tree's preorder, left first. Nodes 0 .. trees - 1 of a pool
//! are roots; two children of one node follow each other, the left one an even number of nodes
//! behind the last root. O(depth): a node stands behind its parent, a right child behind its
//! sibling's subtree too.
RETABLE_HD NodePlace PlaceOf(const NodeLink* links, std::uint32_t trees, std::uint32_t node) {
  std::uint32_t at = 0;
  while (node >= trees) {
    const bool right = ((node - trees) & 1u) != 0;
    at += 1 + (right ? links[node - 1].size : 0);
    node = links[node].parent;
  }
  return {node, at};
}

//! What predicts, of all trees of a forest.
struct PackedForest {
  std::vector<HotNode> hot;         //!< the root of tree t is node t
  std::vector<double> leaf_values;  //!< forest.classes a row
};
//! O(nodes). @throws std::invalid_argument for a forest of more nodes than 32 bits number.
PackedForest PackTrees(const Forest& forest);

}  // namespace retable::extratrees::frontier
