#pragma once
//! @file
//! One tree and a block of rows for top_interactions.hpp: compiled once for each instruction set
//! from top_interactions_block.inc. Raw pointers only, as in quadrature_simd.hpp, and for the same
//! reason.

#include <cstdint>

namespace retable::treeshap {

inline constexpr int kTopLanes = 16;  //!< rows a block

struct TopNode {
  std::int32_t feature = 0;            //!< index in the data's columns
  std::int32_t local = 0;              //!< index among the tree's features
  std::int32_t left = -1, right = -1;  //!< < 0: that child is a leaf
  float lower = 0, upper = 0, threshold = 0;
  std::int32_t inside_set = -1, left_set = -1;  //!< category sets; left_set < 0: numerical
  bool missing_inside = true, missing_left = false;
  float right_weight = 0;
  float left_value = 0, right_value = 0;  //!< of children that are leaves
  float left_cover = 1, right_cover = 1;  //!< c of the feature below
};

struct TopCategorySet {
  const std::uint32_t* words = nullptr;
  std::int32_t count = 0;
  bool others = false;
};

struct TopTree {
  const TopNode* nodes = nullptr;  //!< inner nodes; node 0 is the root
  const float* tables = nullptr;   //!< 2 x points for each node: g, then e
  const float* t = nullptr;        //!< quadrature nodes
  const TopCategorySet* sets = nullptr;
  std::int32_t points = 1;
  std::int32_t locals = 0;
  std::int32_t depth = 0;
};

struct TopRun {
  const float* x = nullptr;            //!< columns x lanes
  const std::int32_t* slot = nullptr;  //!< for each local its place among the wanted, or -1
  std::int32_t wanted = 0;             //!< of this tree's features
  float* pairs = nullptr;              //!< wanted x wanted x lanes, first < second; added to
  float* bounds = nullptr;             //!< locals x lanes, added to; nullptr: none asked for
  float* scratch = nullptr;            //!< TopScratch floats
  std::int32_t* live = nullptr;        //!< 2 x locals integers, zeros
};

inline std::int64_t TopScratch(int depth, int points, int locals) {
  const std::int64_t frame = (4LL * points + 3) * kTopLanes + 3LL * points;
  const std::int64_t states = static_cast<std::int64_t>(locals) * (points + kTopLanes);
  return (depth + 1) * frame + states + 5LL * points * kTopLanes + points;
}

using TopFunction = void (*)(const TopTree& tree, const TopRun& run);

//! The function for an instruction set, or nullptr where it is not compiled in.
TopFunction TopBaseline();
TopFunction TopAvx2();
TopFunction TopAvx512();

}  // namespace retable::treeshap
