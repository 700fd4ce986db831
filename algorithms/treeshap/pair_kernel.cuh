#pragma once
//! @file
//! Interaction values on the GPU; see pair_tape.hpp. Two kernels a batch of trees: units with
//! classes of rows as lanes, then the rest of the trees with rows as lanes, one warp for a tree
//! pass and 32 rows. A tree's pairs are summed in shared memory where all F (F + 1) / 2 fit and
//! folded once a tree; otherwise they go to global memory at once. The global sums are 64-bit fixed
//! point: integer addition is associative, so the result has the same bits whatever the order of
//! the atomics.

#include "algorithms/treeshap/device.cuh"
#include "algorithms/treeshap/pair_tape.hpp"
#include "algorithms/treeshap/shared_grouping.cuh"

namespace retable::treeshap {

struct PairLaunch {
  const Float4* words = nullptr;
  const PairSegment* segments = nullptr;  //!< of the batch
  const std::uint32_t* sets = nullptr;
  const float* x = nullptr;           //!< features x stride
  unsigned long long* out = nullptr;  //!< groups x pairs x stride, fixed point
  std::uint32_t features = 0;
  std::uint32_t stride = 0;  //!< padded rows: a multiple of 32
  std::uint32_t segment_count = 0;
  std::uint32_t slots = 0;
  std::uint32_t shared_pairs = 0;  //!< 1: sum a tree's pairs in shared memory
  double scale = 1;                //!< units of fixed point in one

  std::uint32_t first_unit = 0;  //!< of the batch
  const std::uint16_t* classes = nullptr;
  const std::uint32_t* bases = nullptr;
  const float4* table = nullptr;
};

struct PairUnitLaunch {
  const Unit* units = nullptr;  //!< of the batch
  const Float4* words = nullptr;
  const std::uint32_t* feature_lists = nullptr;
  const float* x = nullptr;
  std::uint32_t stride = 0;
  std::uint32_t slots = 0;
  std::uint32_t features = 0;    //!< the longest list
  std::uint32_t pairs = 0;       //!< the most of a unit
  std::uint32_t unit_words = 0;  //!< the longest tape
  const std::uint32_t* members = nullptr;
  const std::uint32_t* bases = nullptr;
  const UnitItem* items = nullptr;
  std::uint32_t* counters = nullptr;
  float4* table = nullptr;
};

//! Bytes of shared memory of one warp.
std::size_t PairSharedBytes(int points, const PairLaunch& launch);
std::size_t PairUnitSharedBytes(int points, const PairUnitLaunch& launch);

//! @throws std::runtime_error on a launch failure.
void LaunchPairs(int points, const PairLaunch& launch, cudaStream_t stream);
void LaunchPairUnits(int points, const PairUnitLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
