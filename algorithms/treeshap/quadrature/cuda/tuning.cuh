#pragma once
//! @file
//! Tuning constants of the quadrature kernels. Measured on an H200 with the models of Table 6 on
//! 2026-11-20 to 22; docs/lab/treeshap has the alternatives. Multiprocessors and shared memory are
//! the device's (base/cuda/memory.hpp). The tape's constants are in quadrature/tuning.hpp.

#include <cstddef>
#include <cstdint>

#include "base/cuda/tuned.hpp"

namespace retable::treeshap {

// The plan of a call. Nothing here depends on the device, so that the order of summation, and with
// it every bit of the result, is the same on any device.

//! Rows are padded to a multiple of the largest block's rows.
inline constexpr std::uint32_t kRowPadding = 256;
//! Blocks to aim for: several waves on a large GPU.
inline constexpr std::size_t kTargetBlocks = 2112;
//! Trees of more leaves are cut into parts (quadrature/tree_parts.hpp): so many parts for a large
//! model, of no fewer leaves than this. H100, 2026-11-27: 108 to 432 parts and 192 to 256 leaves
//! are within 3 %, 128 leaves up to 5 % slower.
inline constexpr std::size_t kPartsOfModel = 216, kLeavesOfPart = 256, kLeavesOfSmallPart = 64;
//! Models of so many segments or fewer have a range of the tape for each.
inline constexpr std::size_t kFewSegments = 64;
//! With fewer rows or leaves the launches of the grouping cost more than sharing saves.
inline constexpr std::size_t kMinSharedRows = 1024;
inline constexpr std::size_t kMinSharedLeaves = 2000;
//! Rows of a model of more features are asked whether they are alike: so many of them are grouped
//! by so many subtrees, spread evenly. Above this share of row classes among the rows (768 rows;
//! trained models 0.18 to 0.41, unlike rows 0.46 to 0.88) every node is evaluated for every row.
//! H100, 2026-11-25.
inline constexpr std::int32_t kMostAlwaysShared = 8;
inline constexpr std::uint32_t kSampledRows = 768, kSampledSubtrees = 256;
inline constexpr double kMostClasses = 0.43;
//! Segments that a small model is cut into, about, so that its blocks fill the device; shorter ones
//! would mostly be sums.
inline constexpr std::size_t kSmallModelSegments = 32, kLeastSegmentWords = 64;
//! Leaves of a large model, for interactions.
inline constexpr std::size_t kManyLeaves = 65536;
//! Rows at once, and bytes for their partial sums: later rows are copied while these are explained.
inline constexpr std::size_t kMaxRowsAtOnce = std::size_t{1} << 16;
inline constexpr std::size_t kPartialBytes = std::size_t{8} << 30;
//! Values and results of a call from which on it is made in two pieces, the second of which travels
//! while the first is explained. H100, 2026-11-27: 4 million 10 % faster, 5.6 million 15 %, 1.3
//! million half as fast; three pieces are no faster.
inline constexpr std::size_t kNumbersOfTwoPieces = std::size_t{3} << 20;
//! Most leaves of such a model for each value and result of a row: the kernels of a larger one take
//! much longer than the transfers, and two pieces have more row classes than one. H200, 2026-11-28:
//! 135 leaves, the call 1.92 to 1.80 ms.
inline constexpr std::size_t kLeavesOfTwoPieces = 64;
//! Bytes of the tables of all tapes, if every row is a row class of its own.
inline constexpr std::size_t kTableBytes = std::size_t{8} << 30;
//! Words of a segment with shared subtrees, and ranges of a batch: with 40 blocks of rows 54 ranges
//! are four or five waves; short tapes have fewer, because a range's sums are cleared and added.
inline constexpr std::size_t kSharedSegmentWords = 256;
inline constexpr std::size_t kChunksPerRange = 4, kMinBatchRanges = 26, kMaxBatchRanges = 54;

//! Most leaves of a shared subtree: many features split the rows into more classes.
constexpr std::int32_t SharedSubtreeLeaves(std::int32_t features) {
  return features <= 10 ? 32 : (features <= 256 ? 16 : 12);
}

// The quadrature kernel.

//! Rows of a lane: they share the reading of the tape.
inline constexpr int kRowsPerLane = 2;
//! Passes above shared subtrees have so many points at least: fewer kernels and tapes.
inline constexpr int kMinSubtreePoints = 4;
//! Resident blocks of 128 lanes on a multiprocessor: registers and shared memory are cut to it.
//! Six points and more spill many registers with four blocks (H100, 2026-11-27: 1.1 to 1.6 times
//! as long; two blocks 1.06 times).
constexpr int ResidentBlocks(int points) {
  return points <= 4 ? 4 : 3;
}
//! Bytes that the runtime takes of each block's shared memory.
inline constexpr std::size_t kReservedShared = 1024;
//! Stack slots of a lane in local memory; the low, busy slots are in shared memory.
inline constexpr std::uint32_t kLocalSlots = 24;
//! Lanes of a block for so many rows or more, and for fewer rows.
inline constexpr TunedConstant kRowsOfWideBlocks{"treeshap/wide_block_rows",
                                                 2048,
                                                 {512, 1024, 4096, 8192, 16384},
                                                 "Quadrature: rows from which on blocks are wide"};
inline constexpr std::uint32_t kWideBlock = 128, kNarrowBlock = 32;

// The subtree kernel.

//! Row classes of a lane: registers and the stack limit them where there are many points.
constexpr int ClassesPerLane(int points) {
  return points <= 4 ? 2 : 1;
}
//! Teams of a block, fewer where shared memory is short: one for each scheduler of a
//! multiprocessor.
inline constexpr std::uint32_t kTeams = 4;
//! Warps of a team.
inline constexpr std::uint32_t kMaxTeamWarps = 4;

// The grouping of rows into row classes.

//! Rows grouped at once, at most: two thirds of the largest hash table, and two blocks with their
//! keys share a multiprocessor.
inline constexpr std::uint32_t kGroupedRows = 11264;
//! The same where a block's shared memory is too small for them.
inline constexpr std::uint32_t kFewerGroupedRows = 5632;
//! Up to this many rows blocks are small and many: three eighths of the small hash table. H200,
//! 2026-11-28: 38 and 61 us with half the threads and slots, now 13 and 15.
inline constexpr std::uint32_t kFewGroupedRows = 768;
//! A block's threads, its hash table's bits, and the resident blocks.
struct ManyRows {
  static constexpr std::uint32_t kThreads = 512, kBits = 14, kBlocks = 2, kRows = kGroupedRows;
};
struct FewerRows {
  static constexpr std::uint32_t kThreads = 512, kBits = 13, kBlocks = 1, kRows = kFewerGroupedRows;
};
struct FewRows {
  static constexpr std::uint32_t kThreads = 128, kBits = 11, kBlocks = 12, kRows = kFewGroupedRows;
};
//! Entries of a block's list of rows whose slot another key owns, eight rows an entry.
inline constexpr std::uint32_t kListedEights = 512;

// Partial sums and the order of rows: threads of a block.
inline constexpr std::uint32_t kClearThreads = 128;
inline constexpr std::uint32_t kAddThreads = 512;
//! Positions and features of a block that adds partial sums: 33 KiB of shared memory. H200,
//! 2026-11-28: with 128 positions and 32 features, 100 us for 157 MB of results; to write them
//! alone took 111 us so and 61 with 128 features, 47 where rows were whole sectors.
template <class Sum>
inline constexpr std::uint32_t kAddedPositions = sizeof(Sum) == 4 ? 64 : 32;
template <class Sum, class Result>
inline constexpr std::uint32_t kAddedFeatures = 8192 * 4 / sizeof(Result) / kAddedPositions<Sum>;
inline constexpr std::uint32_t kFindThreads = 128;
inline constexpr std::uint32_t kSortThreads = 1024;

}  // namespace retable::treeshap
