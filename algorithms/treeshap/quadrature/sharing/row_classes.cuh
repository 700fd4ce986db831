#pragma once
//! @file
//! Rows of a block grouped into classes, subtree by subtree; see quadrature/sharing/subtrees.hpp.
//! One block of threads takes one subtree: it reads the ranks of all rows, makes their keys and
//! enters them in a hash table in shared memory (or, where there are few keys, in a table of all of
//! them), numbers new entries, and writes each row's class and for each class one of its rows.
//! Numbers depend on the order of atomics; results do not, because rows of a class have equal keys.

#include <cuda_runtime.h>

#include <cstdint>

#include "algorithms/treeshap/quadrature/cuda/tuning.cuh"
#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! Up to a warp's lanes (times the rows of a lane) of classes of one subtree.
struct SubtreeItem {
  std::uint32_t subtree;  //!< counted from the first of the batch
  std::uint32_t count;    //!< number of classes
  std::uint32_t row;      //!< the item's first entry of `representatives`
  std::uint32_t table;    //!< its first group of four words in the table
};

//! What shared subtrees give: the class of each row, and the classes' results.
struct SubtreeResults {
  const std::uint16_t* classes = nullptr;  //!< subtrees x stride
  const std::uint32_t* bases = nullptr;    //!< first group of each subtree in `table`
  const float4* table = nullptr;
};

//! Counters of a batch, zero before.
enum SubtreeCounter : std::uint32_t { kItems, kTableGroups, kItemsTaken, kSubtreeCounters };

//! Arguments of the grouping of rows into row classes.
struct GroupingLaunch {
  const SharedSubtree* subtrees = nullptr;  //!< the batch's subtrees
  const std::uint32_t* keys = nullptr;      //!< key programs
  const std::uint16_t* ranks = nullptr;     //!< features x stride
  std::uint32_t rows = 0;                   //!< at most MostGroupedRows()
  std::uint32_t stride = 0;
  std::uint32_t subtree_count = 0;
  std::uint32_t most_key_words = 0;    //!< length of the longest key program
  std::uint32_t classes_per_item = 0;  //!< the most row classes of an item
  bool missing = true;                 //!< whether a value may be missing

  struct Output {
    std::uint16_t* classes = nullptr;          //!< subtrees x stride
    std::uint32_t* representatives = nullptr;  //!< subtrees x rows: a row of each row class
    //! Where each subtree's row classes begin in the table, in groups of four words.
    std::uint32_t* bases = nullptr;
    SubtreeItem* items = nullptr;
    std::uint32_t* counters = nullptr;  //!< kSubtreeCounters, zero before
  } output;
};

//! Rows whose ranks are asked for: row i is number order[i] of x, or i where there is no order.
struct RankedRows {
  const float* x = nullptr;
  std::size_t row_step = 1, feature_step = 1;  //!< numbers of x between neighbours
  const std::uint32_t* order = nullptr;
};

//! Ranks of `rows` rows, into features x stride 16-bit numbers.
void LaunchRanks(const RankedRows& from, const float* thresholds, const std::uint32_t* begin,
                 std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                 std::uint16_t* ranks, cudaStream_t stream);

//! Rows that the current device groups at once, at most.
std::uint32_t MostGroupedRows();

void LaunchGrouping(const GroupingLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
