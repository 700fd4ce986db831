#pragma once
//! @file
//! Arguments and launches of the quadrature kernel and of the subtree kernel: one translation unit
//! for each number of points in a pass.

#include <cuda_runtime.h>

#include <cstdint>

#include "algorithms/treeshap/quadrature/cuda/tuning.cuh"
#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"
#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

//! Consecutive chunks of a tape, evaluated by one block for its rows.
struct TapeRange {
  std::uint32_t first_chunk = 0;
  std::uint32_t chunks = 0;
};

struct KernelVariant {
  bool general = false;  //!< values may be missing or splits categorical
  bool shares = false;   //!< the tape takes shared subtrees
  AccumulatorLayout layout = AccumulatorLayout::kPerFeature;
};

//! One launch: rows x ranges blocks. Each block writes its own slice of the sums, so the result
//! does not depend on the order in which blocks run.
struct QuadratureLaunch {
  struct Tape {
    const Float4* words = nullptr;
    const TapeRange* ranges = nullptr;
    const std::uint32_t* sets = nullptr;
  } tape;
  const float* x = nullptr;  //!< features x stride
  struct Sums {
    double* partial = nullptr;             //!< kPerFeature: ranges x features x stride
    float* columns = nullptr;              //!< kSlots: spilled sums x stride
    const std::uint32_t* lists = nullptr;  //!< kPerFeature: features whose columns a range clears
    //! Where each range's list begins; kSlots: each range's first column.
    const std::uint32_t* list_begin = nullptr;
  } sums;
  struct Sizes {
    std::uint32_t features = 0;
    std::uint32_t columns = 0;  //!< columns of phi in shared memory; kPerFeature: and of x
    std::uint32_t stride = 0;   //!< padded rows: a multiple of kRowPadding
    std::uint32_t range_count = 0;
    std::uint32_t threads = 128;
    std::uint32_t shared_slots =
        0;  //!< other stack slots, at most kLocalSlots, are in local memory
  } sizes;
  KernelVariant variant;
  std::uint32_t first_subtree = 0;  //!< number of the batch's first shared subtree
  SubtreeResults shared;
};

//! One launch of the subtree kernel: teams of warps draw the items of a batch of subtrees.
struct SubtreeLaunch {
  struct Tapes {
    const SharedSubtree* subtrees = nullptr;  //!< the batch's subtrees
    const Float4* words = nullptr;
    const std::uint32_t* feature_lists = nullptr;
  } tapes;
  const float* x = nullptr;  //!< features x stride
  std::uint32_t stride = 0;
  //! Maxima over the subtrees.
  struct Sizes {
    std::uint32_t stack_slots = 0;
    std::uint32_t features = 0;
    std::uint32_t words = 0;
  } sizes;
  bool missing = false;
  std::uint32_t teams = kTeams;  //!< a block has so many
  std::uint32_t team_warps = 1;  //!< an item has row classes for so many warps
  const std::uint32_t* representatives = nullptr;
  const SubtreeItem* items = nullptr;
  std::uint32_t* counters = nullptr;
  float4* table = nullptr;
};

//! Bytes between the columns of a warp of the subtree kernel: x of a feature and its sum.
constexpr std::uint32_t SubtreeColumnBytes(int points) {
  return 2 * 32 * static_cast<std::uint32_t>(ClassesPerLane(points) * sizeof(float));
}

//! Bytes of shared memory a block needs.
std::size_t QuadratureSharedBytes(int points, const QuadratureLaunch& launch);

//! Keeps as many low stack slots in shared memory as leave room for the resident blocks. The others
//! are in local memory; those that local memory cannot hold are in shared memory again, and for
//! very deep trees a block has fewer threads.
void ChooseSharedMemory(int points, int stack_slots, QuadratureLaunch& launch);

//! Enqueues the kernel for passes of `points`. @throws std::runtime_error on a launch failure.
void LaunchQuadrature(int points, const QuadratureLaunch& launch, cudaStream_t stream);

template <int Q>
void LaunchQuadraturePoints(const QuadratureLaunch& launch, cudaStream_t stream);

//! Bytes of shared memory a block of the subtree kernel needs.
std::size_t SubtreeSharedBytes(int points, const SubtreeLaunch& launch);

//! Sets the warps of a team to what makes the most warps resident on a multiprocessor, with fewer
//! teams a block where shared memory is short.
void ChooseTeams(int points, SubtreeLaunch& launch);

//! Enqueues the subtree kernel. @throws std::runtime_error on a launch failure.
void LaunchSubtrees(int points, const SubtreeLaunch& launch, cudaStream_t stream);

template <int Q>
void LaunchSubtreesPoints(const SubtreeLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
