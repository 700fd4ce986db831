#pragma once
//! @file
//! Interaction values of models of few features on the GPU; see interactions/derivative/tape.hpp.
//! Tiles are scheduled and sums added as in interactions/ancestor/kernel.cuh.

#include "algorithms/treeshap/interactions/derivative/tape.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

struct DerivativeLaunch {
  bool general = true;  //!< missing values or categories
  struct Tape {
    const DerivativeTile* tiles = nullptr;
    std::uint32_t tile_count = 0;
    DerivativeSizes sizes;
    const Float4* words = nullptr;
    const std::uint32_t* sets = nullptr;
  } tape;
  struct Rows {
    const float* x = nullptr;  //!< features x stride
    std::uint32_t stride = 0;  //!< padded row count: a multiple of 32
    float scale = 1;           //!< fixed-point units in one
  } rows;
  struct Output {
    unsigned long long* sums = nullptr;  //!< DerivativeTapeSet::sums x stride, fixed point
    float* below = nullptr;  //!< vectors that tiles leave: vectors x stride / 32 x 32 points
    //! Zero before: the next ticket, then for each tile and block of rows the number of tiles
    //! below that have ended; 1 + tiles x stride / 32.
    std::uint32_t* progress = nullptr;
  } output;
};

//! @throws std::runtime_error on a launch failure.
void LaunchDerivatives(int points, const DerivativeLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
