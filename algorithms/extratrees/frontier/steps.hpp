#pragma once
//! @file
//! The ladder of the GPU's frontier: which of its steps a fit takes.

#include <string>

namespace retable::extratrees {

//! The steps of the ladder, each of which can be left out. Trees are the same with any of them.
struct FrontierSteps {
  bool class_sorted = true;  //!< counts by class runs; else atomics in shared memory
  bool subtrees = true;      //!< nodes of <= 32 samples: one warp finishes the subtree
  bool keep_codes = true;    //!< codes stay on chip between range and count
  bool columns = true;       //!< large nodes read columns; else rows, one block a node
};

//! Steps by name: "frontier", "class-sorted", "subtrees", "on-chip", "columns" (all of them).
//! @throws std::invalid_argument for another name.
FrontierSteps ParseFrontierSteps(const std::string& name);

}  // namespace retable::extratrees
