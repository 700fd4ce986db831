#pragma once
//! @file
//! The tiles that a block sorts by digit in shared memory, of the counted scatter
//! (partition_scatter.cuh) and of the paged split (paged_split.cuh).

#include <cstdint>

namespace retable::shuffle {

inline constexpr int kScatterWarps = 16;  //!< of a block; two fewer for many digits
inline constexpr int kScatterEach = 16;   //!< slots a thread
//! Slots of a tile, one of a block of so many warps.
constexpr std::uint32_t TileOf(int warps) {
  return static_cast<std::uint32_t>(warps) * 32 * kScatterEach;
}

//! A slot of a tile is ordered as one word: its digit over its offset in bytes.
inline constexpr int kDigitShift = 18;

}  // namespace retable::shuffle
