#pragma once
//! @file
//! Interaction values of models of few features on the GPU; see interactions/derivative/tape.hpp.
//! Tiles are scheduled and sums added as in interactions/ancestor/kernel.cuh.

#include "algorithms/treeshap/interactions/common/tile_kernel.cuh"
#include "algorithms/treeshap/interactions/derivative/tape.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

using DerivativeLaunch = TileLaunch<DerivativeTile, DerivativeSizes>;

//! @throws std::runtime_error on a launch failure.
void LaunchDerivatives(int points, const DerivativeLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
