#pragma once
//! @file
//! Trees of a limited number of leaves: the open node whose cut gains most is split next, of equal
//! ones the first made (scikit-learn's `max_leaf_nodes`; gain: its weighted impurity decrease).
//!
//! A node's random bits belong to its path, so such a tree is the top of the one without the limit.
//! The CPU grows the top alone. The GPU grows the whole tree, level by level, and cuts it back
//! here.

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! Nodes that may be split, by a number that the caller gives each; add them in order of making.
class OpenNodes {
 public:
  void Add(double gain, std::size_t node) { open_.push({gain, added_++, node}); }
  bool empty() const { return open_.empty(); }
  //! Takes the node that is split next out.
  std::size_t Take() {
    const std::size_t node = open_.top().node;
    open_.pop();
    return node;
  }

 private:
  struct Open {
    double gain;
    std::size_t order, node;
    bool operator<(const Open& other) const {
      return gain != other.gain ? gain < other.gain : order > other.order;
    }
  };
  std::priority_queue<Open> open_;
  std::size_t added_ = 0;
};

//! A tree without limit of leaves, and what its nodes have to tell beside it.
struct WholeTree {
  std::vector<TreeNode> nodes;  //!< preorder, left first
  std::vector<double> gains;    //!< one a node; those of leaves are not read
  //! Rows that nodes' values name (kMixed | row). Classes: a mixed leaf's weight of each class, in
  //! whole numbers. Regression: the mean target of any node, branches too.
  const double* values = nullptr;
  double units = 1;  //!< classes: a row of weight 1 in those numbers
  std::uint32_t classes = 0;
  bool regression = false;
};

//! The tree of at most `leaves` leaves. O(nodes * classes + leaves log leaves).
Tree TopOfTree(const WholeTree& whole, int leaves);

}  // namespace retable::extratrees
