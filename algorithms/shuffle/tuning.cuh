#pragma once
//! @file
//! Tuning constants of the shuffle kernels: an NVIDIA H200, CUDA 13.0, 2026-11-20 to 22. The
//! experiments are in docs/lab/shuffle. Constants that the host shares are in tuning.hpp.

#include <cstdint>

#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

// --- Bijective shuffles (bijective/kernels.cuh). Random reads bound them: loads under way count.
// ---

inline constexpr int kBijectThreads = 256;
inline constexpr int kBijectEach = 8;
inline constexpr std::uint64_t kBijectTile = kBijectThreads * kBijectEach;
//! Domains up to this size are evaluated one value a thread: latency is that of one evaluation.
inline constexpr std::uint64_t kSmallDomain = std::uint64_t{1} << 18;

// --- Tiles of the counted scatter and of the paged split. Two blocks share a multiprocessor. ---

//! Warps of a block of the scatter; two fewer above kManyDigits, whose counters need the memory.
inline constexpr int kScatterWarps = 16;
inline constexpr std::uint32_t kManyDigits = 448;
//! Slots a thread: 16 words of order stay in registers.
inline constexpr int kScatterEach = 16;
//! Counting blocks a multiprocessor, for one segment and, more for their uneven sizes, for several.
inline constexpr std::uint64_t kCountBlocks = 8;
inline constexpr std::uint64_t kSegmentsCountBlocks = 32;
//! Warps of a block of the paged split; some shared memory is left to the first-level cache.
template <class Item>
inline constexpr int kSplitWarps = sizeof(Item) == 16 ? 10 : 14;
//! Tiles between the one a block moves and the one whose digits it counts: about half of those
//! that are moved at one time. At 2^26 items 64, 96, 128, 256 take 0.316, 0.307, 0.305, 0.307 ms.
inline constexpr std::uint32_t kCountAhead = 128;
//! Tiles whose counts one word sums: the aggregator block reads an eighth of the words.
inline constexpr std::uint32_t kGroupTiles = 8;
//! Words that the aggregator block requests at a time.
inline constexpr std::uint32_t kAggregatorLoads = 8;
//! Items a thread reads from shared memory before it writes any: 32 registers.
template <class Item>
inline constexpr int kRunLoads = sizeof(Item) == 16 ? 4 : 8;

// --- In-memory buckets (partition/cuda/in_memory_bucket.cuh). Two share a multiprocessor. ---

inline constexpr int kBucketWarps = 16;
inline constexpr std::uint32_t kBucketThreads = kBucketWarps * 32;
//! Threads that own four bins each; the last two warps own none and place the large bins.
inline constexpr std::uint32_t kBinOwners = kBins / 4;
//! Slots of a bin's column in shared memory.
inline constexpr std::uint32_t kRows = 10;
//! Slots beyond the columns: four are expected.
inline constexpr std::uint32_t kMostAside = 64;
//! Bins of more than eight slots: 24 are expected.
inline constexpr std::uint32_t kMostLarge = 128;
//! Slots of a bin that a warp places; one bin in 10^17 has more.
inline constexpr std::uint32_t kLargestBin = 31;
//! Packs of 16 bytes a thread reads before it writes any.
inline constexpr std::uint32_t kPacksAhead = 4;
//! Items for buckets over capacity: 12 MiB with their orders.
inline constexpr std::uint32_t kAsideItems = 1u << 20;
//! Shared memory of a multiprocessor of compute capability 9.0, for a check at compile time.
inline constexpr std::uint32_t kSharedBytes90 = 228 * 1024;

// --- Gathers. ---

inline constexpr int kFeistelThreads = 128;
inline constexpr int kBucketGatherThreads = 128;
inline constexpr int kBucketGatherEach = 4;
inline constexpr int kReferenceThreads = 256;
inline constexpr unsigned kRowThreads = 256;

// --- In place. ---

inline constexpr unsigned kExchangeThreads = 256;
//! Blocks that exchange one pair of regions: one for each 2^13 items, up to 1024.
inline constexpr int kExchangeShift = 13;
inline constexpr std::uint64_t kMaxExchangeBlocks = 1024;

}  // namespace retable::shuffle
