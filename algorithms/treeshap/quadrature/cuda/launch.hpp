#pragma once
//! @file
//! Launches of the quadrature kernel: one translation subtree for each number of points in a pass.

#include <cuda_runtime.h>

#include <cstdint>

#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

//! Consecutive chunks of a tape, worked through by one block for its rows.
struct TapeRange {
  std::uint32_t first_chunk = 0;
  std::uint32_t chunks = 0;
};

//! Few features: values and float sums are in shared memory. Placed ones: sums alone.
struct KernelVariant {
  bool general = false;  //!< with missing values or categories
  AccumulatorLayout features = AccumulatorLayout::kPerFeature;
};

//! Stack slots a lane can keep in local memory; the low, busy slots are in shared memory.
inline constexpr std::uint32_t kLocalSlots = 24;

//! One launch: rows x ranges blocks. Each block adds, without contention, to its own slice of
//! `partial` or writes its own columns, so the result does not depend on the order in which blocks
//! run.
struct QuadratureLaunch {
  const Float4* words = nullptr;
  const TapeRange* ranges = nullptr;
  const std::uint32_t* sets = nullptr;
  const float* x = nullptr;                   //!< features x stride
  double* partial = nullptr;                  //!< few: ranges x features x stride
  float* columns_of_sums = nullptr;           //!< placed: columns x stride
  const std::uint32_t* lists = nullptr;       //!< few: of each range, whose columns are cleared
  const std::uint32_t* list_begin = nullptr;  //!< of each range; placed: its first column
  std::uint32_t features = 0;
  std::uint32_t columns = 0;  //!< of phi in shared memory, and of x where that is there
  std::uint32_t stride = 0;   //!< padded rows: a multiple of RowsPerBlock
  std::uint32_t range_count = 0;
  std::uint32_t threads = 128;
  std::uint32_t shared_slots = 0;  //!< the rest, at most kLocalSlots, is in local memory
  KernelVariant kind;
  int rows_per_lane = 1;

  // Shared subtrees: what the subtree kernel left for the rows.
  std::uint32_t first_subtree = 0;         //!< of the batch
  const std::uint16_t* classes = nullptr;  //!< subtrees x stride
  const std::uint32_t* bases = nullptr;    //!< of each subtree's classes in `table`
  const float4* table = nullptr;
};

//! Of a block of the subtree kernel: one for each scheduler of a multiprocessor.
inline constexpr std::uint32_t kTeams = 4;
inline constexpr std::uint32_t kMaxTeamWarps = 4;

//! One launch of the subtree kernel: every item of a batch of subtrees, taken by teams in turn.
struct SubtreeLaunch {
  const SharedSubtree* subtrees = nullptr;  //!< of the batch
  const Float4* words = nullptr;
  const std::uint32_t* feature_lists = nullptr;
  const float* x = nullptr;  //!< features x stride
  std::uint32_t stride = 0;
  std::uint32_t slots = 0;          //!< of the stack
  std::uint32_t features = 0;       //!< the longest list
  std::uint32_t subtree_words = 0;  //!< the longest tape
  bool missing = false;
  std::uint32_t members = 1;            //!< warps of a team; an item has so many warps' classes
  const std::uint32_t* rows = nullptr;  //!< one of each class: GroupingLaunch::members
  const SubtreeItem* items = nullptr;
  std::uint32_t* counters = nullptr;  //!< of GroupingLaunch
  float4* table = nullptr;
};

//! Rows each lane carries: registers and the stack limit it where there are many points.
constexpr int RowsPerLane(int points) {
  return points <= 4 ? 2 : 1;
}

//! The same above shared subtrees, where treelets are few: there are kernels of both forms.
inline constexpr int kSharedRowsPerLane = 2;
//! Passes above shared subtrees have so many points at least: fewer kernels, and fewer tapes.
inline constexpr int kMinSubtreePoints = 4;

//! Bytes between the columns of a warp of the subtree kernel: x of a feature and its sum.
constexpr std::uint32_t SubtreeColumnBytes(int points) {
  return 2 * 32 * static_cast<std::uint32_t>(RowsPerLane(points) * sizeof(float));
}

//! Blocks of 128 lanes that a multiprocessor shall hold: registers and shared memory are cut to it.
constexpr int ResidentBlocks(int points) {
  return points > 0 ? 4 : 1;
}

//! Bytes of shared memory a block needs.
std::size_t QuadratureSharedBytes(int points, const QuadratureLaunch& launch);

//! Enqueues the kernel for passes of `points`. @throws std::runtime_error on a launch failure.
void LaunchQuadrature(int points, const QuadratureLaunch& launch, cudaStream_t stream);

template <int Q>
void LaunchQuadraturePoints(const QuadratureLaunch& launch, cudaStream_t stream);

//! Bytes of shared memory a block of the subtree kernel needs, with so many members a team.
std::size_t SubtreeSharedBytes(int points, const SubtreeLaunch& launch, std::uint32_t members);

//! The members that put most warps on a multiprocessor.
std::uint32_t ChooseTeamWarps(int points, const SubtreeLaunch& launch);

//! Enqueues the subtree kernel. @throws std::runtime_error on a launch failure.
void LaunchSubtrees(int points, const SubtreeLaunch& launch, cudaStream_t stream);

template <int Q>
void LaunchSubtreesPoints(const SubtreeLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
