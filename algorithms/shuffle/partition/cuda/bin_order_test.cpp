#include "algorithms/shuffle/partition/cuda/bin_order.hpp"

#include <gtest/gtest.h>

namespace retable::shuffle {
namespace {

// A network that sorts all rows of zeros and ones sorts everything.
TEST(BinOrder, NetworksSort) {
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

template <std::uint32_t kMost>
void ExpectSwaps() {
  static constexpr ReadOrders kOrders = MakeReadOrders();
  const Philox4x32 random = Philox4x32::FromSeed(kMost);
  for (std::uint32_t draw = 0; draw < 100000; ++draw) {
    const std::uint32_t size[1] = {draw % (kMost + 1)};
    std::uint32_t word[1] = {random.Block(draw).word[0]}, left = word[0];
    std::uint64_t expected[1];
    SmallOrders(word, size, expected);
    std::uint32_t order[(kMost + 7) / 8];
    ReadOrder<kMost>(kOrders.scale, kOrders.places, size[0], left, order);
    ASSERT_EQ(left, word[0]) << size[0];
    ASSERT_EQ(order[0], static_cast<std::uint32_t>(expected[0])) << size[0];
    if constexpr (kMost > 8) {
      ASSERT_EQ(order[1], expected[0] >> 32) << size[0];
    }
  }
}

TEST(BinOrder, AreThoseOfTheSwaps) {
  ExpectSwaps<8>();
  ExpectSwaps<12>();
}

}  // namespace
}  // namespace retable::shuffle
