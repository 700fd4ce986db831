#pragma once
//! @file
//! Quadrature tree SHAP for a block of rows on the CPU: rows are the lanes, one recursion over the
//! tree serves the whole block. Compiled once for each instruction set from
//! quadrature/cpu/simd/row_block.inc. Only raw pointers here: these objects are built with other
//! instruction sets than the rest, and an inline function of the standard library must not be taken
//! from them. A bundle of trees as lanes serves calls of few rows (simd/bundle.inc), with the same
//! bits.

#include <cstdint>

namespace retable::treeshap {

//! Rows of a block.
template <class T>
inline constexpr int kLanes = 128 / static_cast<int>(sizeof(T));

//! One number for each row of a block, where vectors can load it.
template <class T, class Value = T>
struct alignas(64) Lanes {
  Value lane[kLanes<T>];
};

//! A split in the precision of the computation. The children are called first and second: the
//! higher one is first and follows its parent in the array. With w the second child's weight, delta
//! is 1 - w where the row goes to the second and -w where it goes to the first.
template <class T>
struct SimdNode {
  std::int32_t feature = -1;             //!< the row of SimdRun::x
  std::int32_t local = 0;                //!< index among the tree's features
  std::int32_t first = -1, second = -1;  //!< < 0: that child is a leaf
  T lower = 0, upper = 0, threshold = 0;
  std::int32_t inside_set = -1, left_set = -1;  //!< category sets; left_set < 0: numerical
  T below = 0, above = 0;  //!< delta where x < threshold (or in left_set), and where not
  T missing = 0;           //!< delta of a missing value; 0 where that is outside
  T weight = 0;            //!< w
  T first_value = 0, second_value = 0;  //!< leaf values; first_value of a leaf parent: the mean
  T first_cover = 1, second_cover = 1;  //!< c of the feature below, for interactions
  bool below_second = false;            //!< x < threshold goes to the second child
  bool missing_second = false, missing_inside = true;
};

struct SimdCategorySet {
  const std::uint32_t* words = nullptr;
  std::int32_t count = 0;
  bool others = false;
};

//! A feature that lives above a node, with the index of the pair's sum.
struct SimdPartner {
  std::int32_t local = 0;
  std::int32_t pair = 0;
};

//! Everything a block needs for one tree.
template <class T>
struct SimdTree {
  const SimdNode<T>* nodes = nullptr;  //!< inner nodes, parents first; node 0 is the root
  const T* tables = nullptr;           //!< 2 x points for each node: g, then e, of a leaf parent
                                       //!< times the difference of its leaves
  std::int32_t points = 1;
  const T* t = nullptr;  //!< quadrature nodes
  const SimdCategorySet* sets = nullptr;
  std::int32_t locals = 0;                        //!< distinct features of the tree
  const std::uint32_t* partners_begin = nullptr;  //!< nodes + 1 entries
  const SimdPartner* partners = nullptr;
  std::int32_t pairs = 0;  //!< pairs of features on one path
};

//! A block of rows and where its results go. Sums of a tree are collected in T and then added, in
//! double, to the columns they belong to.
template <class T>
struct SimdRun {
  const Lanes<T>* x = nullptr;
  int rows = 0;                           //!< lanes in use, from the first
  bool missing = false;                   //!< whether any value may be NaN
  Lanes<T>* phi = nullptr;                //!< scratch, zeros before and after: locals, then pairs
  Lanes<T>* stack = nullptr;              //!< scratch, SimdScratch
  const std::int32_t* columns = nullptr;  //!< columns of the locals, then of the pairs
  Lanes<T, double>* sums = nullptr;       //!< columns
};

//! Lanes of scratch for a tree of this depth.
inline std::int64_t SimdScratch(int depth, int points, int locals, bool interactions) {
  const std::int64_t frames = static_cast<std::int64_t>(depth + 1) * (2 * points + 2);
  // Each live feature has its ratios (points numbers, less than as many lanes) and its followers.
  return frames + 2 * points +
         (interactions ? static_cast<std::int64_t>(locals) * (points + 1) : 0);
}

template <class T>
using SimdFunction = void (*)(const SimdTree<T>& tree, const SimdRun<T>& run);

//! The numbers of a split of a bundle, before its g and e; each has a value a lane. Where a lane's
//! split has two leaves and other trees go on, the lane is closed: weight is the mean of the
//! leaves, and its children are leaves of 0 and 1. Where a lane's tree has ended, it goes on as the
//! leaf it ended in. Where all children are leaves, weight is the mean, or the value of an ended
//! lane.
enum BundleField : int {
  kLower,
  kUpper,
  kThreshold,
  kBelow,
  kAbove,
  kWeight,
  kMissing,
  kSecond,  //!< value of a second child that is a leaf
  kClosed,  //!< 1 or 0
  kBundleFields
};

//! A split of a bundle: its children in the array, < 0: leaves in every tree.
struct BundleSplit {
  std::int32_t first = -1, second = -1;
  bool closed = false;  //!< some lane is
};

//! Trees laid over each other, a tree a lane, for one row at a time. A split is where any of the
//! trees has one; it stands before the splits below its second child, and those before the first's.
template <class T>
struct SimdBundle {
  std::int32_t count = 0;
  const BundleSplit* splits = nullptr;
  const std::uint16_t* places = nullptr;  //!< splits x 2 x lanes: of the value in x, of the sum
  const T* numbers = nullptr;             //!< splits x (kBundleFields + 2 x points) x lanes
};

//! A row and where its sums go. Place 0 of the sums takes what is nobody's.
template <class T>
struct SimdBundleRun {
  const T* x = nullptr;
  bool missing = false;
  T* phi = nullptr;
  Lanes<T>* stack = nullptr;  //!< scratch, splits x (points + 1) vectors
};

//! What is compiled for an instruction set and a number of points; nothing for other numbers.
template <class T>
struct SimdKernels {
  SimdFunction<T> values = nullptr;
  SimdFunction<T> pairs = nullptr;
  void (*bundle)(const SimdBundle<T>& bundle, const SimdBundleRun<T>& run) = nullptr;
  int lanes = 0;  //!< trees of a bundle
};

template <class T>
SimdKernels<T> SimdBaseline(int points);
template <class T>
SimdKernels<T> SimdAvx2(int points);
template <class T>
SimdKernels<T> SimdAvx512(int points);

}  // namespace retable::treeshap
