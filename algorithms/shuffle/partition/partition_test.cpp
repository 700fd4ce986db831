#include "algorithms/shuffle/partition/partition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "algorithms/shuffle/shuffler.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

// Brute force of the definition: stable sorts by digit at each of the three levels, then the swaps.
std::vector<std::uint64_t> SortedByDigit(const Philox4x32& random, std::uint64_t stream,
                                         std::uint32_t digits,
                                         const std::vector<std::uint64_t>& slots,
                                         std::vector<std::size_t>* sizes) {
  std::vector<std::vector<std::uint64_t>> parts(digits);
  for (std::uint64_t s = 0; s < slots.size(); ++s) {
    const auto block = DigitBlock(random, stream, s / 256, s % 32);
    parts[Digit(block, static_cast<int>(s / 32 % 8), digits)].push_back(slots[s]);
  }
  std::vector<std::uint64_t> sorted;
  sizes->clear();
  for (const auto& part : parts) {
    sorted.insert(sorted.end(), part.begin(), part.end());
    sizes->push_back(part.size());
  }
  return sorted;
}

// Calls f(part, slots) for each part of `slots`, whose sizes are given.
template <class F>
void ForEachPart(const std::vector<std::uint64_t>& slots, const std::vector<std::size_t>& sizes,
                 F&& f) {
  auto begin = slots.begin();
  for (std::uint64_t part = 0; part < sizes.size(); ++part) {
    const auto end = begin + static_cast<std::ptrdiff_t>(sizes[part]);
    f(part, std::vector<std::uint64_t>(begin, end));
    begin = end;
  }
}

std::vector<std::uint64_t> PartitionByDefinition(std::uint64_t n, std::uint64_t seed) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::vector<std::uint64_t> all(n), order;
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  const auto shuffle_bucket = [&](std::uint64_t bucket, const std::vector<std::uint64_t>& slots) {
    std::vector<std::size_t> sizes;
    const auto binned = SortedByDigit(random, InMemoryStream(bucket), kBins, slots, &sizes);
    ForEachPart(binned, sizes, [&](std::uint64_t bin, std::vector<std::uint64_t> part) {
      const auto b = static_cast<std::uint32_t>(bin);
      if (part.size() <= kSmallBin) {
        const auto places =
            UniformSmallOrder(random, bucket, b, static_cast<std::uint32_t>(part.size()),
                              SwapBlock(random, bucket, b / 4).word[b % 4]);
        const auto slots_of_bin = part;
        for (std::size_t r = 0; r < part.size(); ++r)
          part[(places >> (4 * r)) & 15] = slots_of_bin[r];
      } else {
        for (std::uint32_t k = 1; k < part.size(); ++k) {
          std::swap(part[k], part[LargeSwap(random, bucket, b, k)]);
        }
      }
      order.insert(order.end(), part.begin(), part.end());
    });
  };
  std::vector<std::size_t> sizes;
  const auto buckets = SortedByDigit(random, kFirstStream, plan.buckets, all, &sizes);
  ForEachPart(buckets, sizes, [&](std::uint64_t bucket, const std::vector<std::uint64_t>& part) {
    std::vector<std::size_t> inner_sizes;
    const auto inner_buckets =
        SortedByDigit(random, SecondStream(bucket), plan.in_memory_per_bucket, part, &inner_sizes);
    ForEachPart(inner_buckets, inner_sizes, [&](std::uint64_t inner, const auto& slots) {
      shuffle_bucket(bucket * plan.in_memory_per_bucket + inner, slots);
    });
  });
  return order;
}

TEST(Partition, FollowsItsDefinition) {
  const auto shuffler = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::uint64_t n :
       {1, 2, 5, 127, 128, 129, 7168, 7169, 100003, 300007, 6620 * 572 + 1}) {
    EXPECT_EQ(shuffler->permutation(n, 5), PartitionByDefinition(n, 5)) << n;
  }
}

// One thread splits in one pass, several count first.
TEST(Partition, OrderDoesNotDependOnTheThreads) {
  const auto shuffler = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::uint64_t n : {20000, 300007, 1000003}) {
    std::vector<std::uint64_t> alone;
    WithThreads(1, [&] { alone = shuffler->permutation(n, 6); });
    EXPECT_EQ(alone, shuffler->permutation(n, 6)) << n;
  }
}

TEST(Partition, PlanKeepsBucketsInMemory) {
  for (int k = 3; k <= 31; ++k) {
    for (const std::uint64_t extra : {0, 1}) {
      const std::uint64_t n = (std::uint64_t{1} << k) + extra;
      const PartitionPlan plan = MakePartitionPlan(n);
      EXPECT_LE(n / plan.in_memory_buckets(),
                plan.in_memory_buckets() == 1 ? kInMemoryCapacity : kInMemoryMean);
      EXPECT_GE(n / plan.in_memory_buckets(), n > kInMemoryCapacity ? kInMemoryMean / 2 : 0);
      EXPECT_LE(plan.buckets, kMaxDigits);
      EXPECT_LE(plan.in_memory_per_bucket, kMaxDigits);
    }
  }
}

// Every order of a bin comes from equally many words, of those that decide: 2^32 words are too many
// for a test, so the arithmetic is checked on its definition, and frequencies on random words.
TEST(Partition, BinsAreShuffledUniformly) {
  const Philox4x32 random = Philox4x32::FromSeed(3);
  for (const std::uint32_t size : {1u, 2u, 3u, 4u, 5u}) {
    std::map<std::uint64_t, int> seen;
    const int draws = 120000;
    for (int d = 0; d < draws; ++d) {
      const std::uint32_t word = random.Block(static_cast<std::uint64_t>(d), 99).word[0];
      ++seen[UniformSmallOrder(random, 1, 2, size, word)];
    }
    std::uint64_t orders = 1;
    for (std::uint32_t k = 2; k <= size; ++k) orders *= k;
    EXPECT_EQ(seen.size(), orders);
    const double expected = draws / static_cast<double>(orders);
    for (const auto& [order, count] : seen) {
      EXPECT_NEAR(count, expected, 6 * std::sqrt(expected)) << size;
      std::set<std::uint64_t> places;
      for (std::uint32_t r = 0; r < size; ++r) places.insert((order >> (4 * r)) & 15);
      EXPECT_EQ(places.size(), size);
      EXPECT_LT(*places.rbegin(), size);
    }
  }
  // The draws of a word are the digits of floor(word size! / 2^32), and it is drawn again exactly
  // when its remainder falls in the part that would make some orders more frequent.
  for (const std::uint32_t size : {2u, 3u, 7u, 12u}) {
    std::uint64_t orders = 1;
    for (std::uint64_t k = 2; k <= size; ++k) orders *= k;
    for (int d = 0; d < 1000; ++d) {
      const std::uint32_t word = random.Block(static_cast<std::uint64_t>(d), 98).word[1];
      std::uint32_t left = word;
      std::uint64_t digits = 0;
      for (std::uint32_t k = 1; k < size; ++k) digits = digits * (k + 1) + TakeSwap(left, k);
      EXPECT_EQ(digits, (word * orders) >> 32);
      EXPECT_EQ(left, static_cast<std::uint32_t>(word * orders));
      EXPECT_EQ(DrawsAgain(left, size), left < (std::uint64_t{1} << 32) % orders);
    }
  }
  std::vector<int> targets(20, 0);
  for (std::uint32_t bin = 0; bin < 20000; ++bin) ++targets[LargeSwap(random, 4, bin, 19)];
  for (const int count : targets) EXPECT_NEAR(count, 1000, 190);  // six standard deviations
}

}  // namespace
}  // namespace retable::shuffle
