#pragma once
//! @file
//! Interaction values on the GPU: one warp takes one tree pass for 32 rows, lane = row; see
//! pair_tape.hpp. Pairs of the tree are summed in shared memory where all F (F - 1) / 2 fit and
//! folded once a tree; otherwise they go to global memory at once. The global sums are 64-bit fixed
//! point: integer addition is associative, so the result has the same bits whatever the order of
//! the atomics.

#include "algorithms/treeshap/device.cuh"
#include "algorithms/treeshap/pair_tape.hpp"

namespace retable::treeshap {

struct PairLaunch {
  const PairNode* nodes = nullptr;
  const float* tables = nullptr;
  const float* t = nullptr;
  const PairOp* ops = nullptr;
  const PairSegment* segments = nullptr;
  const std::uint32_t* sets = nullptr;
  const float* x = nullptr;           //!< features x stride
  unsigned long long* out = nullptr;  //!< groups x pairs x stride, fixed point
  std::uint32_t features = 0;
  std::uint32_t stride = 0;  //!< padded rows: a multiple of 32
  std::uint32_t segment_count = 0;
  std::uint32_t slots = 0;
  std::uint32_t positions = 0;
  std::uint32_t shared_pairs = 0;  //!< 1: sum a tree's pairs in shared memory
  double scale = 1;                //!< units of fixed point in one
};

//! Index of the unordered pair (a, b), a != b.
__host__ __device__ inline std::uint32_t PairIndex(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t high = a > b ? a : b;
  const std::uint32_t low = a > b ? b : a;
  return high * (high - 1) / 2 + low;
}

//! Bytes of shared memory of one warp.
inline std::size_t PairSharedBytes(int points, const PairLaunch& launch) {
  const std::size_t q = static_cast<std::size_t>(points);
  const std::size_t stack = launch.slots * (2 * q + 2) * 32 * sizeof(float);
  const std::size_t live = launch.positions * (q + 1) * sizeof(float);
  const std::size_t pairs =
      launch.shared_pairs != 0
          ? std::size_t{launch.features} * (launch.features - 1) / 2 * 32 * sizeof(float)
          : 0;
  return stack + pairs + live;
}

void LaunchPairs(int points, const PairLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
