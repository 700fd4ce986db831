#pragma once
//! @file
//! One tree and a block of rows for top_interactions.hpp: compiled once for each instruction set
//! from top_interactions_block.inc. Raw pointers only, as in quadrature_simd.hpp, and for the same
//! reason.

#include "algorithms/treeshap/quadrature_simd.hpp"

namespace retable::treeshap {

inline constexpr int kTopLanes = 16;  //!< rows a block

struct TopTree {
  const SimdNode<float>* nodes = nullptr;  //!< inner nodes; node 0 is the root
  const float* tables = nullptr;           //!< as SimdTree's
  const float* t = nullptr;                //!< quadrature nodes
  const SimdCategorySet* sets = nullptr;
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
