#pragma once
//! @file
//! Quadrature tree SHAP for a block of rows on the CPU: rows are the vector lanes, one recursion
//! over the tree serves the whole block. Compiled once for each instruction set from
//! quadrature_simd.inc. Only raw pointers here: these objects are built with other instruction sets
//! than the rest, and an inline function of the standard library must not be taken from them.

#include <cstdint>

namespace retable::treeshap {

//! A split in the precision of the computation.
template <class T>
struct SimdNode {
  std::int32_t feature = -1;           //!< index in the data's columns
  std::int32_t local = 0;              //!< index among the tree's features
  std::int32_t left = -1, right = -1;  //!< < 0: that child is a leaf
  float lower = 0, upper = 0, threshold = 0;
  std::int32_t inside_set = -1, left_set = -1;  //!< category sets; left_set < 0: numerical
  bool missing_inside = true, missing_left = false;
  T right_weight = 0;
  T left_value = 0, right_value = 0;  //!< of children that are leaves
  T left_cover = 1, right_cover = 1;  //!< c of the feature below, for interactions
};

struct SimdCategorySet {
  const std::uint32_t* words = nullptr;
  std::int32_t count = 0;
  bool others = false;
};

//! Everything a block needs for one tree. Lanes: kLanes<T> rows.
template <class T>
struct SimdTree {
  const SimdNode<T>* nodes = nullptr;  //!< inner nodes; node 0 is the root
  const T* tables = nullptr;           //!< points x 2 for each node: g, then e
  std::int32_t points = 1;
  const T* t = nullptr;  //!< quadrature nodes
  const SimdCategorySet* sets = nullptr;
  std::int32_t locals = 0;  //!< distinct features of the tree
};

template <class T>
inline constexpr int kLanes = 64 / static_cast<int>(sizeof(T));

template <class T>
struct SimdRun {
  const float* x = nullptr;    //!< columns x lanes
  const T* weights = nullptr;  //!< start of G: ones, points x lanes
  T* phi = nullptr;            //!< locals x lanes, added to
  T* pairs = nullptr;          //!< locals x locals x lanes (feature of the node, ancestor), or null
  T* stack = nullptr;          //!< scratch: depth x (2 points + 2) x lanes, see SimdScratch
  std::int32_t* live = nullptr;  //!< scratch of interactions: locals
};

//! Floats or doubles of scratch for a tree of this depth.
inline std::int64_t SimdScratch(int depth, int points, int locals, int lanes, bool interactions) {
  const std::int64_t frames = static_cast<std::int64_t>(depth + 1) * (2 * points + 2) * lanes;
  if (!interactions) return frames + points * lanes;
  // Each frame saves one feature's state (ratios and lanes); every live feature has one.
  const std::int64_t states = static_cast<std::int64_t>(depth + 2 + locals) * (points + lanes);
  return frames + 2 * points * lanes + states;
}

template <class T>
using SimdFunction = void (*)(const SimdTree<T>& tree, const SimdRun<T>& run);

//! The function for an instruction set, or nullptr where it is not compiled in.
SimdFunction<float> SimdBaselineFloat();
SimdFunction<double> SimdBaselineDouble();
SimdFunction<float> SimdAvx2Float();
SimdFunction<double> SimdAvx2Double();
SimdFunction<float> SimdAvx512Float();
SimdFunction<double> SimdAvx512Double();

}  // namespace retable::treeshap
