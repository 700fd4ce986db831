#include "algorithms/shuffle/partition/cpu/in_memory_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {
namespace {

// The definition: a stable sort by digit, then the swaps of each bin.
std::vector<std::uint64_t> BucketByDefinition(const Philox4x32& random, std::uint64_t bucket,
                                              std::uint32_t m) {
  std::vector<std::vector<std::uint64_t>> bins(kBins);
  for (std::uint64_t s = 0; s < m; ++s) {
    const auto block = DigitBlock(random, InMemoryStream(bucket), s / 256, s % 32);
    bins[Digit(block, static_cast<int>(s / 32 % 8), kBins)].push_back(s);
  }
  std::vector<std::uint64_t> order;
  for (std::uint32_t b = 0; b < kBins; ++b) {
    auto bin = bins[b];
    const auto size = static_cast<std::uint32_t>(bin.size());
    if (size <= kSmallBin) {
      const auto places =
          UniformSmallOrder(random, bucket, b, size, SwapBlock(random, bucket, b / 4).word[b % 4]);
      for (std::uint32_t r = 0; r < size; ++r) bin[(places >> (4 * r)) & 15] = bins[b][r];
    } else {
      for (std::uint32_t k = 1; k < size; ++k) {
        std::swap(bin[k], bin[LargeSwap(random, bucket, b, k)]);
      }
    }
    order.insert(order.end(), bin.begin(), bin.end());
  }
  return order;
}

std::uint64_t IndexOf(std::uint32_t item) {
  return item;
}
std::uint64_t IndexOf(std::uint64_t item) {
  return item;
}
std::uint64_t IndexOf(const Item16& item) {
  return item.half[0];
}

template <class Item>
std::vector<Item> Numbered(std::uint64_t m) {
  std::vector<Item> items(m);
  for (std::uint64_t i = 0; i < m; ++i) {
    if constexpr (sizeof(Item) == 16) {
      items[i] = {{i, ~i}};
    } else {
      items[i] = static_cast<Item>(i);
    }
  }
  return items;
}

// Apart and in place; what lies behind the output stays as it was.
template <class Item>
void ExpectByDefinition(std::uint64_t seed, std::uint64_t bucket, std::uint32_t m) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const auto expected = BucketByDefinition(random, bucket, m);
  const auto items = Numbered<Item>(m + 16);
  std::vector<Item> out = items, same = items;
  ShuffleInMemory(random, bucket, items.data(), out.data(), m);
  ShuffleInMemory(random, bucket, same.data(), same.data(), m);
  for (std::uint64_t i = 0; i < m + 16; ++i) {
    const std::uint64_t wanted = i < m ? expected[i] : i;
    ASSERT_EQ(IndexOf(out[i]), wanted) << m << " items of " << sizeof(Item) << ", place " << i;
    ASSERT_EQ(IndexOf(same[i]), wanted) << m << " items of " << sizeof(Item) << " in place, " << i;
  }
}

TEST(InMemoryBucket, FollowsItsDefinitionAtEverySize) {
  for (const std::uint32_t m : {0u, 1u, 2u, 3u, 8u, 63u, 255u, 256u, 257u, 1000u, 1279u, 1280u,
                                1281u, 1282u, 2047u, 4097u, 6620u, 7167u, 7168u}) {
    ExpectByDefinition<std::uint64_t>(m + 1, 0, m);
    ExpectByDefinition<std::uint32_t>(m + 2, 77, m);
    ExpectByDefinition<Item16>(m + 3, 1u << 20, m);
  }
}

// Bins of more than 8, 12 and 16 slots; more items than fast memory holds.
TEST(InMemoryBucket, OverCapacityFollowsItsDefinition) {
  ExpectByDefinition<std::uint64_t>(5, 3, kInMemoryCapacity + 1);
  ExpectByDefinition<std::uint64_t>(6, 3, 40000);
  ExpectByDefinition<std::uint32_t>(7, 4, 20000);
  ExpectByDefinition<Item16>(8, 5, 20000);
}

// One full in-memory bucket in five hundred has a bin of more than 16 slots.
TEST(InMemoryBucket, ALargeBinFollowsTheDefinition) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed < 20000 && found < 2; ++seed) {
    const Philox4x32 random = Philox4x32::FromSeed(seed);
    std::vector<std::uint32_t> size(kBins, 0);
    ForEachDigit(random, InMemoryStream(0), kBins, 0, kInMemoryCapacity,
                 [&](std::uint64_t, std::uint32_t digit) { ++size[digit]; });
    if (*std::max_element(size.begin(), size.end()) <= 16) continue;
    ++found;
    ExpectByDefinition<std::uint64_t>(seed, 0, kInMemoryCapacity);
  }
  EXPECT_EQ(found, 2u);
}

TEST(InMemoryBucket, SplitsTheSameOnAnyThreads) {
  const std::uint32_t m = 30011, buckets = 5;
  const Philox4x32 random = Philox4x32::FromSeed(11);
  const auto items = Numbered<std::uint64_t>(m);
  std::vector<std::uint64_t> alone(m), parallel(m), in_place = items;
  SplitAndShuffle(random, kFirstStream, buckets, 40, items.data(), alone.data(), m, false);
  SplitAndShuffle(random, kFirstStream, buckets, 40, items.data(), parallel.data(), m, true);
  SplitAndShuffle(random, kFirstStream, buckets, 40, in_place.data(), in_place.data(), m, false);
  EXPECT_EQ(alone, parallel);
  EXPECT_EQ(alone, in_place);
  std::sort(alone.begin(), alone.end());
  EXPECT_EQ(alone, items);
}

// Whatever vectors a processor has, the order is the same.
TEST(InMemoryBucket, OrdersDoNotDependOnTheVectors) {
  const std::uint32_t m = 40000;
  const Philox4x32 random = Philox4x32::FromSeed(21);
  const auto items = Numbered<std::uint64_t>(m);
  std::vector<std::vector<std::uint64_t>> orders;
  for (const int bits : {512, 256, 0}) {
    widest_vectors = bits;
    for (const std::uint32_t buckets : {3u, 7u, 40u}) {  // few, and full; many; sparse
      orders.emplace_back(m);
      SplitAndShuffle(random, kFirstStream, buckets, 9, items.data(), orders.back().data(), m,
                      false);
    }
    ExpectByDefinition<std::uint64_t>(31, 2, 7000);
    ExpectByDefinition<std::uint32_t>(32, 3, 700);
  }
  widest_vectors = 512;
  for (std::size_t k = 3; k < orders.size(); ++k) EXPECT_EQ(orders[k], orders[k % 3]) << k;
}

}  // namespace
}  // namespace retable::shuffle
