#include "algorithms/shuffle/split_rectangle/buckets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

std::unique_ptr<Shuffler> Make(const char* name, const Parameters& parameters = {}) {
  return Registry<Shuffler>::Instance().Make(name, Device::kCpu, parameters);
}

// A stable split, then each bucket by its cipher.
std::vector<std::uint64_t> ByDefinition(std::uint64_t n, std::uint32_t buckets,
                                        std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::vector<std::vector<std::uint64_t>> parts(buckets);
  for (std::uint64_t i = 0; i < n; ++i) parts[BucketOf(random, i, buckets)].push_back(i);
  std::vector<std::uint64_t> order;
  for (std::uint32_t b = 0; b < buckets; ++b) {
    const auto m = static_cast<std::uint32_t>(parts[b].size());
    const BucketCipher cipher = BucketCipher::Make(random, b, m);
    for (std::uint32_t i = 0; i < m; ++i) order.push_back(parts[b][cipher.CycleWalk(i)]);
  }
  return order;
}

TEST(SplitRectangle, FollowsItsDefinition) {
  for (const std::int64_t bucket : {1, 3, 100, 4096}) {
    const auto shuffler = Make("SplitRectangle", {{"bucket", bucket}});
    for (const std::uint64_t n : {1, 2, 3, 255, 256, 257, 1000, 70001, 300007}) {
      const std::uint32_t buckets = SplitBuckets(n, bucket);
      const auto order = shuffler->permutation(n, n + 1);
      EXPECT_EQ(order, buckets == 1 ? Make("Rectangle")->permutation(n, n + 1)
                                    : ByDefinition(n, buckets, n + 1))
          << n << " in buckets of " << bucket;
    }
  }
}

TEST(SplitRectangle, SplitsPastTheCache) {
  EXPECT_EQ(SplitBuckets(0), 1u);
  EXPECT_EQ(SplitBuckets(kSplitFrom), 1u);
  EXPECT_EQ(SplitBuckets(kSplitFrom + 1), 32u);
  EXPECT_EQ(SplitBuckets(std::uint64_t{1} << 26), 128u);
  EXPECT_EQ(SplitBuckets((std::uint64_t{1} << 29) + 1), 256u);
  EXPECT_EQ(SplitBuckets(kMaxSplit), kMaxBuckets);
  EXPECT_THROW(SplitBuckets(kMaxSplit + 1), std::invalid_argument);
  EXPECT_THROW(Make("SplitRectangle", {{"bucket", std::int64_t{-1}}}), std::invalid_argument);
}

TEST(SplitRectangle, CiphersAreOneToOne) {
  const Philox4x32 random = Philox4x32::FromSeed(5);
  for (const std::uint32_t m : {1u, 2u, 255u, 256u, 257u, 65536u, 65537u, 1500007u}) {
    const BucketCipher cipher = BucketCipher::Make(random, m % 7, m);
    EXPECT_GE(std::uint64_t{cipher.a} * cipher.b, m);
    EXPECT_EQ(cipher.a % 2, 0u);
    std::vector<bool> seen(m, false);
    for (std::uint32_t x = 0; x < m; ++x) {
      const std::uint32_t y = cipher.CycleWalk(x);
      ASSERT_LT(y, m);
      ASSERT_FALSE(seen[y]) << m;
      seen[y] = true;
    }
  }
  // The widest: division by the reciprocal must be off by one at most.
  const BucketCipher widest = BucketCipher::Make(random, 0, 1u << 31);
  for (std::uint64_t x = 0; x < std::uint64_t{widest.a} * widest.b; x += 1000003) {
    EXPECT_LT(widest.CycleWalk(static_cast<std::uint32_t>(x)), 1u << 31);
  }
}

TEST(SplitRectangle, PassesTheBattery) {
#ifdef RETABLE_SANITIZED
  constexpr std::uint64_t kSamples = 400;
#else
  constexpr std::uint64_t kSamples = 2000;
#endif
  const auto shuffler = Make("SplitRectangle", {{"bucket", std::int64_t{70}}});
  for (const std::uint32_t n : {5u, 64u, 200u, 600u}) {  // 1, 1, 3 and 9 buckets
    Battery battery(n);
    for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
      const auto order = shuffler->permutation(n, seed);
      battery.Add(Permutation(order.begin(), order.end()));
    }
    EXPECT_GT(BonferroniP(battery.Results()), 1e-5) << n;
  }
}

}  // namespace
}  // namespace retable::shuffle
