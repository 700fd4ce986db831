#pragma once
//! @file
//! Rows of a block grouped into classes, unit by unit; see quadrature/sharing/subtrees.hpp. One
//! block of threads takes one unit: it reads the ranks of all rows, makes their keys and enters
//! them in a hash table in shared memory (or, where there are few keys, in a table of all of them),
//! numbers new entries, and writes each row's class and for each class one of its rows. Numbers
//! depend on the order of atomics; results do not, for the rows of a class are alike.

#include <cuda_runtime.h>

#include <cstdint>

#include "algorithms/treeshap/quadrature/sharing/subtrees.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! Rows that can be grouped at once: two thirds of the largest hash table, and two blocks with
//! their keys share a multiprocessor.
inline constexpr std::uint32_t kGroupedRows = 11264;
//! Up to this many rows, three quarters of the small one, blocks are small and many.
inline constexpr std::uint32_t kFewGroupedRows = 768;

//! Up to a warp's lanes (times the rows of a lane) of classes of one unit.
struct UnitItem {
  std::uint32_t unit;   //!< counted from the first of the batch
  std::uint32_t count;  //!< of classes
  std::uint32_t row;    //!< where the item's entries of `members` begin
  std::uint32_t table;  //!< where its classes begin in the table, in groups of four words
};

//! Counters of a batch, zero before.
enum UnitCounter : std::uint32_t { kItems, kTableGroups, kItemsTaken, kUnitCounters };

//! What is to be shared with whom. Counters are zero before.
struct GroupingLaunch {
  const Unit* units = nullptr;  //!< of the batch
  const std::uint32_t* keys = nullptr;
  const std::uint16_t* ranks = nullptr;  //!< features x stride
  std::uint32_t rows = 0;                //!< at most kGroupedRows
  std::uint32_t stride = 0;
  std::uint32_t unit_count = 0;
  std::uint32_t key_words = 0;     //!< the longest key program
  std::uint32_t item_classes = 0;  //!< of an item
  bool missing = true;             //!< whether a value may be missing

  std::uint16_t* classes = nullptr;  //!< units x stride
  std::uint32_t* members = nullptr;  //!< units x rows: a row of each class
  std::uint32_t* bases = nullptr;    //!< of each unit's classes in the table, groups of four words
  UnitItem* items = nullptr;
  std::uint32_t* counters = nullptr;  //!< kUnitCounters
};

//! Ranks of `rows` rows (features x stride floats), into features x stride 16-bit numbers.
void LaunchRanks(const float* x, const float* thresholds, const std::uint32_t* begin,
                 std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                 std::uint16_t* ranks, cudaStream_t stream);

void LaunchGrouping(const GroupingLaunch& launch, cudaStream_t stream);

}  // namespace retable::treeshap
