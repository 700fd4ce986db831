#include "algorithms/shuffle/partition/bin_orders.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {
namespace {

template <std::uint32_t kMost, std::uint32_t kTabled>
void ExpectSwaps() {
  const auto table = std::make_unique<const BinOrders<kTabled>>(MakeBinOrders<kTabled>());
  const Philox4x32 random = Philox4x32::FromSeed(kMost);
  for (std::uint32_t draw = 0; draw < 100000; ++draw) {
    const std::uint32_t size[1] = {draw % (kMost + 1)};
    std::uint32_t word[1] = {random.Block(draw).word[0]}, left = word[0];
    std::uint64_t expected[1];
    SmallOrders(word, size, expected);
    std::uint32_t order[(kMost + 7) / 8];
    ReadOrder<kMost, kTabled>(table->scale, table->places, size[0], left, order);
    ASSERT_EQ(left, word[0]) << size[0];
    ASSERT_EQ(order[0], static_cast<std::uint32_t>(expected[0])) << size[0];
    if constexpr (kMost > 8) {
      ASSERT_EQ(order[1], expected[0] >> 32) << size[0];
    }
  }
}

TEST(BinOrders, AreThoseOfTheSwaps) {
  ExpectSwaps<8, kReadBin>();
  ExpectSwaps<12, kReadBin>();
  ExpectSwaps<8, kTabledBin>();
  EXPECT_EQ(OrdersUpTo(kReadBin), 874u);
  EXPECT_EQ(OrdersUpTo(kTabledBin), 46234u);
}

}  // namespace
}  // namespace retable::shuffle
