#pragma once
//! @file
//! Interaction values on the GPU; see interactions/ancestor/tape.hpp. Shared subtrees first, with
//! row classes as lanes, then all tiles in one launch with rows as lanes: a block draws one tile
//! after the other and waits for those below it, which have been drawn before. A tile's sums are
//! kept in shared memory and added to global sums of 64-bit fixed point: integer addition is
//! associative, so the result has the same bits whatever the order of the atomics.

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"
#include "algorithms/treeshap/interactions/common/tile_kernel.cuh"
#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

struct InteractionSubtreeLaunch {
  bool general = true;  //!< missing values
  const InteractionTile* tiles = nullptr;
  const Float4* words = nullptr;
  const float* x = nullptr;  //!< features x stride
  std::uint32_t stride = 0;
  InteractionSizes sizes;
  const std::uint32_t* representatives = nullptr;
  const SubtreeItem* items = nullptr;
  std::uint32_t* counters = nullptr;
  float4* table = nullptr;
};

struct InteractionLaunch : TileLaunch<InteractionTile, InteractionSizes> {
  SubtreeResults shared;
};

//! Bytes of shared memory of a block of `warps` warps.
std::size_t InteractionSharedBytes(int points, const InteractionSizes& sizes, std::uint32_t warps);

//! @throws std::runtime_error on a launch failure.
void LaunchInteractionSubtrees(int points, bool wide, const InteractionSubtreeLaunch& launch,
                               cudaStream_t stream);
void LaunchInteractions(int points, bool wide, const InteractionLaunch& launch,
                        cudaStream_t stream);

}  // namespace retable::treeshap
