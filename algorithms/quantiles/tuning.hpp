#pragma once
//! @file
//! Tuning constants of the quantile family. Card: H200 (132 multiprocessors, CUDA 13.0), measured
//! 2026-11-20 to 22; the tables are in docs/lab/quantiles. Constants marked (bits) decide how
//! values are grouped into sums, hence the last bits of a result.

#include <cstddef>

namespace retable::quantiles {

// Sums of a stream, 2026-11-20 to 28. Constraint: registers. 3 blocks a multiprocessor leave 80
// registers a thread (H100, float32: 785 us per 5e8 values against 760), 4 blocks spill.
inline constexpr int kStreamThreads = 256;  //!< (bits)
inline constexpr int kStreamBlocksPerMultiprocessor = 2;
//! Blocks of a long stream (bits): two for each of an H200's 132 multiprocessors. The number is the
//! same on every card, so that the bits are; where fewer run at a time, the others follow.
inline constexpr int kStreamBlocks = 264;
//! States that one block joins (bits), two a thread; more are joined in groups. H100, 2026-11-27.
inline constexpr unsigned kJoinedStates = 512;
//! Values of a tile per lane (bits). float32 tiles of 16: as fast.
template <class Real>
inline constexpr int kLaneValues = sizeof(Real) == 8 ? 16 : 32;
//! Tiles between two additions to the float64 sums (bits). Constraint: errors below 5e-7 where one
//! value is 70 % of a column; 128 float32 values a lane leave 5.3e-7.
template <class Real>
inline constexpr int kFlushTiles = sizeof(Real) == 8 ? 1 : 2;
//! Tiles of a warp's ring in shared memory: one being summed, the others in flight. One, where a
//! block's shared memory has no room for more.
template <class Real>
inline constexpr int kStages = sizeof(Real) == 8 ? 3 : 2;

// Sample and lattice histogram, 2026-11-21. Constraint: the latency of the sample's loads. With all
// of them in flight it takes 10 us; dependent loads took 50 to 80 us.
inline constexpr int kSampleBlocks = 32;  //!< One lane a block reads the results.
inline constexpr int kSampleThreads = 256;
inline constexpr int kSampleRuns = 64;  //!< Runs of kSampleThreads values per block.
inline constexpr int kTriedRuns = 4;    //!< One run in so many is tried for a lattice.
//! Sample blocks that outliers may spoil.
inline constexpr int kSpoiltBlocks = 4;
//! Values off the lattice before the general kernel takes over (0.95 ms per 1e9 values lost).
inline constexpr int kExceptions = 256;
//! Values of a tile per lane. 16 float32 values: 0.99 ms against 0.98; eight float64 values: 298 us
//! per 1e8 against 246 (2026-11-28).
template <class Real>
inline constexpr int kCountValues = sizeof(Real) == 8 ? 16 : 32;

// Sums of many columns, 2026-11-25. Constraint: a tile's second read comes from shared memory, and
// the bits must not depend on the number of multiprocessors.
inline constexpr int kColumnThreads = 256;  //!< (bits)
inline constexpr int kColumnTile = 4096;    //!< Values (bits).
inline constexpr int kColumnBlocksPerMultiprocessor = 2;
inline constexpr int kDigitsBlocksPerMultiprocessor = 16;
//! A short stream is summed as a column (bits), a long one by the stream's kernel; where sums of
//! logarithms are wanted, as columns of this length.
inline constexpr std::size_t kLongStream = std::size_t{1} << 21;

// Moments by tree reduction, 2026-11-20. Constraint: a state of 16 float64 sums in registers.
inline constexpr int kMomentThreads = 256;  //!< (bits)
inline constexpr int kMomentValues = 32;    //!< Values of a tile per thread (bits).
inline constexpr int kMomentBlocks = 528;   //!< (bits) four for each of an H200's multiprocessors

// Duals, 2026-11-21. Constraint: shared memory, 5 KiB a warp, and registers of 32 nodes a lane.
inline constexpr int kDualThreads = 128;
inline constexpr int kDualBlocksPerMultiprocessor = 4;

//! Host values that are copied to the device at once.
inline constexpr std::size_t kUploadPiece = std::size_t{1} << 24;

//! Values of a tile on the CPU (bits): 32 KiB of float64, the first-level cache.
inline constexpr std::size_t kCpuTile = 4096;

}  // namespace retable::quantiles
