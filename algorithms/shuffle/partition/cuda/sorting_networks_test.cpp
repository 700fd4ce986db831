#include "algorithms/shuffle/partition/cuda/sorting_networks.hpp"

#include <gtest/gtest.h>

namespace retable::shuffle {
namespace {

// A network that sorts all rows of zeros and ones sorts everything.
TEST(SortingNetworks, Sort) {
  for (std::uint32_t ones = 0; ones < 256; ++ones) {
    std::uint32_t v[8];
    for (int i = 0; i < 8; ++i) v[i] = ((ones >> i) & 1) | (((~ones >> i) & 1) << 16);
    SortEight(v);
    for (int i = 1; i < 8; ++i) {
      ASSERT_LE(v[i - 1] & 0xFFFFu, v[i] & 0xFFFFu) << ones;
      ASSERT_LE(v[i - 1] >> 16, v[i] >> 16) << ones;
    }
  }
  for (std::uint32_t ones = 0; ones < 4096; ++ones) {
    std::uint32_t v[12];
    for (int i = 0; i < 12; ++i) v[i] = (ones >> i) & 1;
    SortTwelve(v);
    for (int i = 1; i < 12; ++i) ASSERT_LE(v[i - 1], v[i]) << ones;
  }
}

}  // namespace
}  // namespace retable::shuffle
