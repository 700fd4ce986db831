#pragma once
//! @file
//! Tuning constants of interaction values. Measured on an H200 with 200 rows on 2026-11-21 and 22;
//! docs/lab/treeshap/012-interactions-ancestor.md and 013-interactions-derivative.md have the
//! alternatives. No result depends on them.

#include <cstddef>
#include <cstdint>

namespace retable::treeshap::tuning {

// Ancestor form. A tile's sums take 128 bytes for each interaction and warp: 56 leave 21 warps on a
// multiprocessor. Larger tiles start later, smaller ones repeat more factors.
inline constexpr std::int32_t kTileLeaves = 32;
inline constexpr std::uint32_t kTileInteractions = 56;
//! Leaves whose work equals adding up the results of a shared subtree.
inline constexpr std::int32_t kSubtreeCost = 6;
//! Stack slots in shared memory at most: the busy ones are low, and more slots displace warps.
inline constexpr std::uint32_t kSharedSlots = 3;
//! Warps of a multiprocessor that evaluate shared subtrees, and of their blocks.
inline constexpr std::uint32_t kSubtreeWarps = 24;
inline constexpr std::uint32_t kSubtreeBlockWarps = 4;

// Derivative form. A column takes 128 bytes a warp: with 118, fourteen warps are resident.
inline constexpr std::int32_t kDerivativeTileLeaves = 72;
inline constexpr std::uint32_t kDerivativeTileColumns = 118;
//! Leaves whose work equals taking the vectors of a tile.
inline constexpr std::int32_t kTileCost = 4;

//! Leaves of a part of a tree (quadrature/tree_parts.hpp). H100, 2026-11-27: 256 as fast for trees
//! of thousands of leaves, up to 5 % slower for those of 300.
inline constexpr std::size_t kPartLeaves = 512;
//! Most warps of a block: they share one copy of the tape.
inline constexpr std::uint32_t kMostWarps = 8;
//! A working set that any device has free: asking for free memory takes longer than a small call.
inline constexpr std::size_t kSmallBytes = std::size_t{1} << 28;

}  // namespace retable::treeshap::tuning
