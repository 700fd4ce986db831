#pragma once
//! @file
//! Tuning constants of the shuffle family for host code, and those that both backends share;
//! tuning.cuh has the kernels'. CPU figures: a Xeon with AVX-512, 2026-11-21. GPU figures: an
//! NVIDIA H200, 2026-11-20 to 22. The experiments are in docs/lab/shuffle.

#include <cstddef>
#include <cstdint>

#include "base/cuda/tuned.hpp"

namespace retable::shuffle {

// --- Part of a method's definition: another value gives other orders on every device. ------------

//! Expected size of an in-memory bucket once there are several: H200, two of 8-byte items share a
//! multiprocessor's memory.
inline constexpr std::uint64_t kInMemoryMean = 6620;
//! Bins of an in-memory bucket: about four slots a bin, four bins a thread of 14 warps.
inline constexpr std::uint32_t kBins = 1792;
//! Digits of a partition level at most: two levels then take over 2^31 items, and a digit fits in
//! 14 bits of a slot's word.
inline constexpr std::uint64_t kMaxDigits = 572;
//! SplitRectangle has several buckets from more items on: H200, a gather of fewer stays in the L2.
inline constexpr std::uint64_t kSplitFrom = std::uint64_t{1} << 22;
//! SplitRectangle's buckets at most: H200, two digits a thread of the smallest split block.
inline constexpr std::uint64_t kMaxBuckets = 512;
//! "Shuffle" splits from so many bytes of items on: H200, the L2 cache holds fewer.
inline constexpr std::size_t kSplitBytes = std::size_t{1} << 26;
//! Items of an in-place chunk at most: H200, the scratch of one about fits into the L2 cache.
inline constexpr std::uint64_t kInPlaceChunk = std::uint64_t{1} << 23;
//! In-place chunks at most, as many as digits: 2^32 items have so many.
inline constexpr std::uint64_t kInPlaceMostChunks = 512;
//! Items of a chunk of "Partition" past kMaxPartition at most: an H100 shuffles so many faster than
//! fewer.
inline constexpr std::uint64_t kExchangeChunk = std::uint64_t{1} << 26;
//! "FisherYates" splits more items than these: EPYC with AVX2, 2026-11-23, with targets asked for
//! ahead one pass over 2^20 + 1 items of 8 bytes is faster than a split of them.
inline constexpr std::uint64_t kFisherYatesUndivided = std::uint64_t{1} << 21;
//! Items of its buckets on average, half of them at least: the second-level cache holds them.
inline constexpr std::uint64_t kFisherYatesBucket = std::uint64_t{1} << 17;
//! Its buckets at most: past these the lines of a split no longer stay in the cache.
inline constexpr std::uint64_t kFisherYatesMaxBuckets = 512;
//! Digits that name one device: H200, with few digits all lanes count in the same counters.
inline constexpr std::uint32_t kDeviceDigits = 32;

// --- Free: no order depends on them. ---

//! The largest bucket that is ordered in fast memory: 6.7 standard deviations over kInMemoryMean.
inline constexpr std::uint32_t kInMemoryCapacity = 7168;
//! Items of a page, as a power of two, at least: H200, whole pages amortise address translation.
inline constexpr std::uint32_t kPageShift = 13;
//! Pages of an average bucket at most: an H200 reads 16 distant regions without waiting for their
//! translation.
inline constexpr std::uint64_t kMaxBucketPages = 14;
//! Bins of up to so many slots have their orders in the GPU's table: 3.4 kB of shared memory.
inline constexpr std::uint32_t kReadBin = 6;
//! Bins of up to so many slots are sorted in pairs on the GPU: 8 registers a pair.
inline constexpr std::uint32_t kPairedBin = 8;

//! GPU: threads move one item each for fewer items, and four each from there on.
inline constexpr TunedConstant kFeistelManyItems{
    "shuffle/rectangle_many_items",
    1u << 22,
    {1u << 19, 1u << 20, 1u << 21, 1u << 23, 1u << 24},
    "Rectangle: items from which on a thread moves four"};
inline constexpr TunedConstant kReferenceManyItems{
    "shuffle/gather_many_items",
    1u << 19,
    {1u << 17, 1u << 18, 1u << 20, 1u << 21, 1u << 22},
    "Gather: items from which on a thread moves four"};

//! CPU: items of a task of a parallel loop.
inline constexpr std::uint64_t kHostBlock = std::uint64_t{1} << 14;
//! CPU: values of a bijection evaluated at a time, 8 kB: the first-level cache holds them.
inline constexpr std::uint64_t kHostBatch = 1024;
//! CPU: items of a range of the stable split: a range has one counter a digit.
inline constexpr std::uint64_t kSplitRange = std::uint64_t{1} << 18;
//! CPU: one thread splits up to so many items: one pass beats a count and a pass on many threads.
inline constexpr std::uint64_t kOneThread = std::uint64_t{1} << 18;
//! CPU: bins of up to so many slots have their orders in the table: 185 kB, the second-level cache.
inline constexpr std::uint32_t kTabledBin = 8;

}  // namespace retable::shuffle
