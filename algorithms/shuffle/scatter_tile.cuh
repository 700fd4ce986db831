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

//! A thread's counters of two neighbouring digits: a word each for every pair of warps, a half-word
//! a warp.
template <int kPairs>
struct TwoDigits {
  uint2* counters;      //!< of the first pair of warps
  std::uint32_t pitch;  //!< to the next

  __device__ __forceinline__ void AddUp(std::uint32_t (&total)[2]) const {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const uint2 counted = counters[k * pitch];
      total[0] += (counted.x & 0xFFFFu) + (counted.x >> 16);
      total[1] += (counted.y & 0xFFFFu) + (counted.y >> 16);
    }
  }
  //! Each counter becomes the place of its warp's first slot; `next` are those of the digits.
  __device__ __forceinline__ void ToPlaces(std::uint32_t (&next)[2]) const {
    const auto places = [](std::uint32_t halves, std::uint32_t& place) {
      const std::uint32_t low = place, high = low + (halves & 0xFFFFu);
      place = high + (halves >> 16);
      return low | (high << 16);
    };
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      uint2& counted = counters[k * pitch];
      counted = make_uint2(places(counted.x, next[0]), places(counted.y, next[1]));
    }
  }
};

}  // namespace retable::shuffle
