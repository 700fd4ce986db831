#pragma once
//! @file
//! How the GPU sorts the slots of a bin of an in-memory bucket, which come in any order: by sorting
//! networks, of two bins at once in the halves of a word. Host-device, so that tests need no GPU.

#include <cstdint>

#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::shuffle {

//! Exchanges a and b so that each half of a is at most that of b.
RETABLE_HD void OrderHalves(std::uint32_t& a, std::uint32_t& b) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t least = __vminu2(a, b);
  b = __vmaxu2(a, b);
  a = least;
#else
  const std::uint32_t low_a = a & 0xFFFFu, low_b = b & 0xFFFFu, high_a = a >> 16, high_b = b >> 16;
  a = (low_a < low_b ? low_a : low_b) | ((high_a < high_b ? high_a : high_b) << 16);
  b = (low_a < low_b ? low_b : low_a) | ((high_a < high_b ? high_b : high_a) << 16);
#endif
}

//! Sorts the low halves and the high halves of eight words. 19 comparisons, the fewest there are.
RETABLE_HD void SortEight(std::uint32_t (&v)[8]) {
  constexpr unsigned char kPairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6},
                                           {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5},
                                           {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
  RETABLE_UNROLL
  for (int c = 0; c < 19; ++c) OrderHalves(v[kPairs[c][0]], v[kPairs[c][1]]);
}

//! Sorts twelve words. 39 comparisons.
RETABLE_HD void SortTwelve(std::uint32_t (&v)[12]) {
  constexpr unsigned char kPairs[39][2] = {
      {0, 8},  {1, 7},   {2, 6}, {3, 11}, {4, 10}, {5, 9},  {0, 1}, {2, 5}, {3, 4}, {6, 9},
      {7, 8},  {10, 11}, {0, 2}, {1, 6},  {5, 10}, {9, 11}, {0, 3}, {1, 2}, {4, 6}, {5, 7},
      {8, 11}, {9, 10},  {1, 4}, {3, 5},  {6, 8},  {7, 10}, {1, 3}, {2, 5}, {6, 9}, {8, 10},
      {2, 3},  {4, 5},   {6, 7}, {8, 9},  {4, 6},  {5, 7},  {3, 4}, {5, 6}, {7, 8}};
  RETABLE_UNROLL
  for (int c = 0; c < 39; ++c) {
    std::uint32_t &a = v[kPairs[c][0]], &b = v[kPairs[c][1]];
    const std::uint32_t least = a < b ? a : b;
    b = a < b ? b : a;
    a = least;
  }
}

}  // namespace retable::shuffle
