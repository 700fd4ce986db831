#pragma once
//! @file
//! Tuning constants that the tape's compiler and its device both depend on. Measured on an H200
//! with the models of Table 6 on 2026-11-20 to 22; docs/lab/treeshap has the alternatives.
//! Constants of the kernels alone are in quadrature/cuda/tuning.cuh. Changing one changes the order
//! in which floats are added, and with it the last bits of results.

#include <cstddef>
#include <cstdint>

namespace retable::treeshap {

//! Models of at most so many features keep x and a sum of every feature in shared memory: 16 of
//! each leave four blocks of 128 lanes on a multiprocessor.
inline constexpr std::int32_t kPerFeatureLimit = 16;
//! Accumulator slots unless one instruction needs more: with four points and two rows a lane, 43
//! slots and one stack slot leave four blocks on a multiprocessor.
inline constexpr std::uint32_t kAccumulatorSlots = 43;
//! The same where trees of six points and more have no shared subtrees: their stack is deeper
//! (H100, 2026-11-25: 2 to 5 % less time than with 43, 1 % less than with 24).
inline constexpr std::uint32_t kDeepTreeSlots = 32;
inline constexpr int kDeepTreePoints = 6;
//! Segments of a tape with accumulator slots, about: each writes all its sums at its end.
inline constexpr std::size_t kSlottedSegments = 108;
//! Groups of four words between folds into double: float sums stay short.
inline constexpr std::size_t kFoldWords = 512;
//! Additions to one float sum until it is written out: errors of float stay small.
inline constexpr std::uint32_t kMaxAdds = 64;
//! Sums written by one instruction: an instruction for each sum would take longer than the sums.
inline constexpr std::size_t kSpilledAtOnce = 4;

//! Smaller subtrees are not worth a table.
inline constexpr std::int32_t kMinSubtreeLeaves = 5;
//! More merged subtrees would make the float sums of a row class, and the work of one warp, long.
inline constexpr std::uint32_t kMaxMergedSubtrees = 8;
//! Thresholds that only one of two merged subtrees has: with more of them, the additional row
//! classes cost more than one grouping of rows saves.
inline constexpr int kMaxCutDifference = 2;
//! Candidates that a subtree is compared with, the latest first: the search stays linear.
inline constexpr std::size_t kMaxCompared = 64;

}  // namespace retable::treeshap
