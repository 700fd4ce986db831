#pragma once
//! @file
//! Interaction values on the GPU; see interactions/ancestor/tape.hpp. Units first, with classes of
//! rows as lanes, then all parts in one launch with rows as lanes: a block draws one part after the
//! other and waits for those below it, which have been drawn before. A part's pairs are summed in
//! shared memory and added to global sums of 64-bit fixed point: integer addition is associative,
//! so the result has the same bits whatever the order of the atomics.

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"
#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

struct PairUnitLaunch {
  bool general = true;  //!< missing values
  const PairPart* parts = nullptr;
  const Float4* words = nullptr;
  const float* x = nullptr;  //!< features x stride
  std::uint32_t stride = 0;
  PairSizes sizes;
  const std::uint32_t* members = nullptr;
  const SubtreeItem* items = nullptr;
  std::uint32_t* counters = nullptr;
  float4* table = nullptr;
};

struct PairLaunch {
  bool general = true;  //!< missing values or categories
  const PairPart* parts = nullptr;
  std::uint32_t count = 0;  //!< of parts
  PairSizes sizes;
  const Float4* words = nullptr;
  const std::uint32_t* sets = nullptr;
  const float* x = nullptr;           //!< features x stride
  std::uint32_t stride = 0;           //!< padded rows: a multiple of 32
  float scale[2] = {1, 1};            //!< their product is the units of fixed point in one
  unsigned long long* out = nullptr;  //!< PairTapeSet::sums x stride, fixed point
  float* below = nullptr;             //!< K: parts x points x stride
  //! Zero before: the next to be drawn, then how many have ended below each part, for each block of
  //! rows; 1 + parts x stride / 32.
  std::uint32_t* progress = nullptr;
  const std::uint16_t* classes = nullptr;
  const std::uint32_t* bases = nullptr;
  const float4* table = nullptr;
};

//! Bytes of shared memory of a block of so many warps.
std::size_t PairSharedBytes(int points, const PairSizes& sizes, std::uint32_t warps);

//! @throws std::runtime_error on a launch failure.
void LaunchPairUnits(int points, bool wide, const PairUnitLaunch& launch, cudaStream_t stream);
void LaunchPairs(int points, bool wide, const PairLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
