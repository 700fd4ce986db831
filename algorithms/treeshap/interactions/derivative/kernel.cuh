#pragma once
//! @file
//! Interaction values of models of few features on the GPU; see interactions/derivative/tape.hpp.
//! All parts in one launch with rows as lanes, as in interactions/ancestor/kernel.cuh: a block
//! draws one part after the other and waits for those below it, which have been drawn before; sums
//! of 64-bit fixed point.

#include "algorithms/treeshap/interactions/derivative/tape.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

struct DerivativeLaunch {
  bool general = true;  //!< missing values or categories
  const DerivativePart* parts = nullptr;
  std::uint32_t count = 0;  //!< of parts
  DerivativeSizes sizes;
  const Float4* words = nullptr;
  const std::uint32_t* sets = nullptr;
  const float* x = nullptr;           //!< features x stride
  std::uint32_t stride = 0;           //!< padded rows: a multiple of 32
  float scale = 1;                    //!< units of fixed point in one
  unsigned long long* out = nullptr;  //!< DerivativeTapeSet::sums x stride, fixed point
  float* below = nullptr;             //!< what parts leave: vectors x stride / 32 x 32 points
  //! Zero before: the next to be drawn, then how many have ended below each part, for each block of
  //! rows; 1 + parts x stride / 32.
  std::uint32_t* progress = nullptr;
};

//! @throws std::runtime_error on a launch failure.
void LaunchDerivatives(int points, const DerivativeLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
