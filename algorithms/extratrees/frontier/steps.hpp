#pragma once
//! @file
//! The ladder of the GPU's frontier: which of its steps a fit takes.

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace retable::extratrees {

//! The steps of the ladder, each of which can be left out. Trees are the same with any of them.
struct FrontierSteps {
  bool class_sorted = true;  //!< counts by class runs; else atomics in shared memory
  bool subtrees = true;      //!< nodes of <= 32 samples: one warp finishes the subtree
  bool keep_codes = true;    //!< codes stay on chip between range and count
  bool columns = true;       //!< large nodes read columns; else rows, one block a node
};

//! Steps by the name of the last one taken. @throws std::invalid_argument for another name.
inline FrontierSteps ParseFrontierSteps(const std::string& name) {
  const char* rungs[] = {"frontier", "class-sorted", "subtrees", "on-chip", "columns"};
  const auto rung = std::ranges::find(rungs, name) - std::begin(rungs);
  if (rung < 5) return {rung >= 1, rung >= 2, rung >= 3, rung >= 4};
  throw std::invalid_argument("steps \"" + name +
                              "\" is none of frontier, class-sorted, subtrees, on-chip, columns");
}

}  // namespace retable::extratrees
