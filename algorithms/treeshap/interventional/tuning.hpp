#pragma once
//! @file
//! Tuning constants of interventional values. Which leaves are served by tables decides the order
//! of sums, so it depends on the model and the number of background rows alone. Chosen on
//! 2026-11-25 for an H100 and a Zen 3 (docs/lab/treeshap/026-interventional-tables.md).

#include <cstddef>
#include <cstdint>

namespace retable::treeshap {

//! Splits of a treelet, at most: with its path of three more features, the four leaves of a tree of
//! depth six share 128 patterns and seven sums; seven splits would have 1,024 patterns.
inline constexpr std::uint32_t kTreeletSplits = 3;
//! Bits of a pattern, at most: counts and sums over subsets of a leaf are 40 KB of shared memory,
//! which every card has, and a treelet's table is 400 KB.
inline constexpr std::uint32_t kPatternBits = 12;
//! Sums of a table, for each of its leaves and background rows, at most: one takes as long to make
//! as a pair of rows takes in a leaf without a table, so that a table is repaid by so many rows.
inline constexpr std::size_t kSumsPerPair = 64;
//! Counts and tables of all treelets, at most: a card of 16 GB holds them beside rows and results.
inline constexpr std::size_t kPatternTableBytes = std::size_t{4} << 30;

//! Bytes of a tile of rows and their sums on the CPU, and its rows at most: half of a second-level
//! cache; a treelet's table serves a tile from the first level.
inline constexpr std::size_t kTileBytes = 512 * 1024;
inline constexpr std::size_t kTileRows = 512;
//! Background rows that are counted at once on the CPU, in bytes: a task counts the patterns of a
//! few treelets in all of them.
inline constexpr std::size_t kCountedBytes = std::size_t{64} << 20;
//! Treelets of a task, at most: those of one tree read the same features.
inline constexpr std::size_t kCountedTreelets = 16;

//! Background rows of a piece on the GPU, in floats, and rows at most.
inline constexpr std::size_t kPieceFloats = std::size_t{1} << 23;
inline constexpr std::size_t kPieceRows = std::size_t{1} << 16;
//! Rows whose patterns a block counts.
inline constexpr std::uint32_t kCountedRows = 8192;
//! Patterns that wait for their sums on the GPU, rows x treelets: about a second-level cache.
inline constexpr std::uint32_t kPatternRows = 8192;
inline constexpr std::uint32_t kPatternTreelets = 2048;
//! Treelets of a block, which share their path's features in the first-level cache.
inline constexpr std::uint32_t kBlockTreelets = 16;
//! Most shared memory for a block's sums of deep leaves, and bytes for the sums of all.
inline constexpr std::size_t kDeepColumnBytes = 96 * 1024;
inline constexpr std::size_t kDeepBytes = std::size_t{4} << 30;

}  // namespace retable::treeshap
