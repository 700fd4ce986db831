#pragma once
//! @file
//! Rows sorted by the leaves of some trees, on the device; see quadrature/sharing/leaf_order.hpp.

#include <cuda_runtime.h>

#include "algorithms/treeshap/quadrature/sharing/leaf_order.hpp"

namespace retable::treeshap {

//! What is to be sorted. All pointers are to device memory.
struct OrderLaunch {
  const OrderNode* nodes = nullptr;
  std::uint32_t roots[kOrderTrees] = {};
  std::uint32_t trees = 0;
  int bits = 0;                 //!< length of a key
  const float* rows = nullptr;  //!< count x features
  std::uint32_t count = 0;      //!< at most kGroupedRows
  std::uint32_t features = 0;
  std::uint32_t* keys = nullptr;   //!< count
  std::uint32_t* order = nullptr;  //!< count: row at each position
};

//! Enqueues it. A lane carries two neighbouring positions: these get rows that are 32 apart in the
//! order, so that the rows that a warp reads at once are next to each other.
//! @throws std::runtime_error on a launch failure.
void LaunchRowOrder(const OrderLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
