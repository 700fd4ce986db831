#pragma once
//! @file
//! Where a node of the pool stands in its tree's preorder, left first. Nodes 0 .. trees - 1 of a
//! pool are roots; two children of one node follow each other, the left one an even number of nodes
//! behind the last root.

#include <cstdint>

#include "base/cuda/host_device.hpp"

namespace retable::extratrees::frontier {

struct NodeLink {
  std::uint32_t parent;  //!< unset for a root
  std::uint32_t size;    //!< nodes of the subtree
};

struct NodePlace {
  std::uint32_t tree, at;
};

//! O(depth): a node stands behind its parent, a right child behind its sibling's subtree too.
RETABLE_HD NodePlace PlaceOf(const NodeLink* links, std::uint32_t trees, std::uint32_t node) {
  std::uint32_t at = 0;
  while (node >= trees) {
    const bool right = ((node - trees) & 1u) != 0;
    at += 1 + (right ? links[node - 1].size : 0);
    node = links[node].parent;
  }
  return {node, at};
}

}  // namespace retable::extratrees::frontier
