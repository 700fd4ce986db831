#include "algorithms/shuffle/fisher_yates/fisher_yates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/seed_testing.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint32_t kCount = RandomIndices::kCount;

// xoshiro256++ of one lane, as published.
struct Xoshiro {
  std::uint64_t s[4];
  std::uint64_t operator()() {
    const auto rotated = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
    const std::uint64_t word = rotated(s[0] + s[3], 23) + s[0], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotated(s[3], 45);
    return word;
  }
};

// Indices by definition, one at a time.
class PlainIndices {
 public:
  PlainIndices(const Philox4x32& random, std::uint64_t stream) : random_(random), stream_(stream) {
    for (int lane = 0; lane < 4; ++lane) {
      for (int row = 0; row < 4; ++row) {
        const std::uint64_t half = 4 * static_cast<std::uint64_t>(row) + lane;
        lanes_[lane].s[row] = random.Block(half / 2, stream).half(half % 2);
      }
    }
  }
  std::vector<std::uint32_t> Draw(std::uint32_t bound) {
    std::vector<std::uint32_t> words, indices;
    while (words.size() < std::min(bound, kCount)) {
      for (Xoshiro& lane : lanes_) {
        const std::uint64_t word = lane();
        words.push_back(static_cast<std::uint32_t>(word));
        words.push_back(static_cast<std::uint32_t>(word >> 32));
      }
    }
    for (std::uint32_t k = 0; k < std::min(bound, kCount); ++k) {
      const std::uint64_t mine = bound - k;
      std::uint64_t word = words[k];
      // The words below 2^32 mod `mine` in their products are one too many for some index.
      while ((word * mine) % (1ull << 32) < (1ull << 32) % mine) {
        word = random_.Block(8 + redrawn_ / 4, stream_).word[redrawn_ % 4];
        ++redrawn_;
      }
      indices.push_back(static_cast<std::uint32_t>(word * mine >> 32));
    }
    return indices;
  }
  std::uint64_t redrawn() const { return redrawn_; }

 private:
  Philox4x32 random_;
  std::uint64_t stream_, redrawn_ = 0;
  Xoshiro lanes_[4];
};

TEST(RandomIndices, AreThoseOfTheDefinition) {
  const Philox4x32 random = Philox4x32::FromSeed(FreshSeed());
  for (const int widest : {512, 128}) {
    widest_vectors = widest;
    RandomIndices blocks(random, 7);
    PlainIndices plain(random, 7);
    for (const std::uint32_t bound : {1u, 2u, 7u, 8u, 9u, 127u, 128u, 129u, 1000u, 1u << 20,
                                      3u << 30, 0xFFFFFFFFu, 0x80000001u, 5u, 1u << 31, 100u}) {
      std::uint32_t index[kCount];
      blocks.Draw(bound, index);
      const auto expected = plain.Draw(bound);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        ASSERT_EQ(index[k], expected[k]) << "bound " << bound << ", " << k << ", " << widest;
        ASSERT_LT(index[k], bound - k);
      }
    }
    EXPECT_GT(plain.redrawn(), 10u);  // a quarter of the words of 3 * 2^30
  }
  widest_vectors = 512;
}

TEST(RandomIndices, AreEvenWhereWordsAreDrawnAgain) {
  RandomIndices random(Philox4x32::FromSeed(FreshSeed()), 0);
  // Without the second draws two of the four words of each three indices would fall on the first.
  std::vector<std::uint64_t> count(3);
  std::uint32_t index[kCount];
  for (int round = 0; round < 10'000; ++round) {
    random.Draw(3u << 30, index);
    ++count[index[0] % 3];
  }
  EXPECT_GT(ChiSquaredTail(ChiSquared(count), 2), 1e-6);
}

TEST(FisherYates, SwapsAsDefined) {
  const Philox4x32 random = Philox4x32::FromSeed(FreshSeed());
  for (const std::uint32_t n : {0u, 1u, 2u, 3u, 9u, 128u, 129u, 130u, 1000u, 70'000u}) {
    std::vector<std::uint32_t> items(n), expected(n);
    std::iota(items.begin(), items.end(), 0u);
    expected = items;
    RandomIndices indices(random, 1);
    FisherYatesInBlocks(items.data(), n, indices);
    PlainIndices plain(random, 1);
    for (std::uint32_t left = n; left > 1;) {
      const auto target = plain.Draw(left);
      const std::uint32_t many = std::min(left - 1, kCount);
      for (std::uint32_t k = 0; k < many; ++k)
        std::swap(expected[left - 1 - k], expected[target[k]]);
      left -= many;
    }
    EXPECT_EQ(items, expected) << n;
  }
}

// Past 2^20 items there are buckets: their orders depend neither on the threads nor on the vectors.
TEST(FisherYates, OneSeedHasOneOrder) {
  auto shuffler = Registry<Shuffler>::Instance().Make("FisherYates", Device::kCpu, {});
  const std::uint64_t n = (1 << 20) + 12'345, seed = FreshSeed();
  const auto order = shuffler->permutation(n, seed);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
  widest_vectors = 128;
  EXPECT_EQ(shuffler->permutation(n, seed), order);
  widest_vectors = 512;
  std::vector<std::uint32_t> items(n), out(n);
  std::iota(items.begin(), items.end(), 0u);
  shuffler->shuffle(items.data(), out.data(), n, 4, seed);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), order.begin()));
}

// With buckets each item is as likely in one place as in another: by blocks of both.
TEST(FisherYates, ManyItemsLandEverywhere) {
  auto shuffler = Registry<Shuffler>::Instance().Make("FisherYates", Device::kCpu, {});
  const std::uint64_t n = (1 << 20) + 1;
  const auto order = shuffler->permutation(n, FreshSeed());
  std::vector<std::uint64_t> count(64 * 64);
  for (std::uint64_t j = 0; j < n; ++j) ++count[j * 64 / n * 64 + order[j] * 64 / n];
  // Rows and columns add up, so that 63 * 63 counts are free.
  EXPECT_GT(ChiSquaredTail(ChiSquared(count), 63 * 63), 1e-6);
}

}  // namespace
}  // namespace retable::shuffle
