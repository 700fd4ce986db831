#pragma once
//! @file
//! The tiles that a block sorts by digit in shared memory, of the counted scatter
//! (partition/cuda/scatter.cuh) and of the paged split (split/paged_split.cuh).

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/tuning.cuh"

namespace retable::shuffle {

//! Slots of a tile, one of a block of so many warps.
constexpr std::uint32_t TileOf(int warps) {
  return static_cast<std::uint32_t>(warps) * 32 * kScatterEach;
}

//! Where a block reads the items that it writes in order.
enum class ItemsFrom {
  kIndex,   //!< nowhere: an item is its own index
  kTile,    //!< shared memory, loaded while the block computes
  kGlobal,  //!< the source, where a block's shared memory has no room: slower
};

//! Bytes of shared memory for so many items, with room for the alignment of their load.
template <class Item, ItemsFrom kFrom>
constexpr std::size_t LoadedBytes(std::size_t items) {
  return kFrom == ItemsFrom::kTile ? items * sizeof(Item) + 16 : 0;
}

//! A slot of a tile is ordered as one word: its digit over its offset in bytes.
inline constexpr int kDigitShift = 18;

//! Counters of two neighbouring digits and a pair of warps: a word a digit, a half-word a warp.
//! Adds them up by digit.
__device__ __forceinline__ void AddCounts(const uint2& counted, std::uint32_t (&total)[2]) {
  total[0] += (counted.x & 0xFFFFu) + (counted.x >> 16);
  total[1] += (counted.y & 0xFFFFu) + (counted.y >> 16);
}
//! What counters become: the place of their warp's first slot, `next` being those of the digits.
__device__ __forceinline__ uint2 CountsToPlaces(const uint2& counted, std::uint32_t (&next)[2]) {
  const auto places = [](std::uint32_t halves, std::uint32_t& place) {
    const std::uint32_t low = place, high = low + (halves & 0xFFFFu);
    place = high + (halves >> 16);
    return low | (high << 16);
  };
  return make_uint2(places(counted.x, next[0]), places(counted.y, next[1]));
}

}  // namespace retable::shuffle
