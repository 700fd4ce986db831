#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/split_rectangle/buckets.hpp"
#include "base/seed_testing.hpp"

namespace retable::shuffle {
namespace {

TEST(Rectangle, IsOneToOneForEverySize) {
  for (const std::uint64_t n :
       {1, 2, 3, 5, 17, 255, 256, 257, 1000, 4095, 4096, 4097, 65537, 1000003}) {
    const FeistelCipher cipher = MakeFeistelCipher(n, n + 7);
    EXPECT_GE(std::uint64_t{cipher.a} * cipher.b, n);
    std::vector<bool> seen(n, false);
    for (std::uint32_t x = 0; x < n; ++x) {
      const std::uint32_t y = cipher.CycleWalk(x);
      ASSERT_LT(y, n);
      ASSERT_FALSE(seen[y]) << n;
      seen[y] = true;
    }
  }
  EXPECT_THROW(MakeFeistelCipher((std::uint64_t{1} << 31) + 1, 1), std::invalid_argument);
}

TEST(Rectangle, ManyValuesAreThoseOfOne) {
  std::mt19937_64 random(FreshSeed());
  for (const std::uint64_t n : {1, 2, 63, 255, 256, 257, 4095, 4097, 65537, 1000003, 2147483647}) {
    const FeistelCipher cipher = MakeFeistelCipher(n, random());
    for (const std::size_t count : {0, 1, 31, 32, 33, 1000}) {
      std::vector<std::uint32_t> values(count), want;
      for (std::uint32_t& value : values) {
        value = static_cast<std::uint32_t>(random() % n);
        want.push_back(cipher.CycleWalk(value));
      }
      CycleWalkMany(cipher, values.data(), count);
      ASSERT_EQ(values, want) << n;
    }
  }
}

TEST(Rectangle, EndsAreThoseOfCycleWalks) {
  WalkEnds ends;
  EXPECT_FALSE(FindWalkEnds(MakeFeistelCipher(1, 1), ends));  // 256 - 1 of them
  for (const std::uint64_t n : {256, 257, 513, 1025, 2049, 4097, 65537}) {
    FeistelCipher cipher = MakeFeistelCipher(n, 1);
    SetKeys(cipher, n);
    const FeistelCipher fresh = MakeFeistelCipher(n, n);
    ASSERT_TRUE(FindWalkEnds(cipher, ends)) << n;
    for (std::uint32_t x = 0; x < n; ++x) {
      const std::uint32_t y = cipher.Encrypt(x);
      ASSERT_EQ(y < n ? y : ends.end[y - n], fresh.CycleWalk(x)) << n;
    }
  }
}

// With few values, those from n on often form a cycle of their own.
TEST(Rectangle, EndsOfAllSeedsAreFound) {
  FeistelCipher cipher = MakeFeistelCipher(513, 0);
  WalkEnds ends;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SetKeys(cipher, seed);
    ASSERT_TRUE(FindWalkEnds(cipher, ends));
    for (std::uint32_t x = 0; x < 513; ++x) {
      const std::uint32_t y = cipher.Encrypt(x);
      ASSERT_EQ(y < 513 ? y : ends.end[y - 513], cipher.CycleWalk(x)) << seed;
    }
  }
}

// The widest rectangle: division by the reciprocal and sums modulo a side must not overflow.
TEST(Rectangle, HoldsAtTheLargestSize) {
  const FeistelCipher cipher = MakeFeistelCipher(std::uint64_t{1} << 31, 3);
  const std::uint64_t domain = std::uint64_t{cipher.a} * cipher.b;
  for (std::uint64_t x = 0; x < domain; x += 1000003) {
    const std::uint32_t left = static_cast<std::uint32_t>((x * cipher.reciprocal) >> 32);
    EXPECT_LE(x / cipher.b - left, 1u);
    EXPECT_LT(cipher.Encrypt(static_cast<std::uint32_t>(x)), domain);
  }
}

// Undoes a cipher's half-rounds.
template <class Cipher>
std::uint32_t Decrypt(const Cipher& cipher, std::uint32_t y, int half_rounds) {
  std::uint32_t left = y / cipher.b, right = y % cipher.b;
  const auto subtract = [](std::uint32_t side, std::uint32_t other, std::uint32_t key,
                           std::uint32_t length) {
    const std::uint32_t added = FeistelCipher::AddMixed(0, other, key, length);
    return side >= added ? side - added : side + (length - added);
  };
  for (int r = half_rounds - 2; r >= 0; r -= 2) {
    right = subtract(right, left, cipher.key[r + 1], cipher.b);
    left = subtract(left, right, cipher.key[r], cipher.a);
  }
  return left * cipher.b + right;
}

// Near 2^31 what cannot be enumerated is undone.
TEST(Rectangle, IsUndoneUpToItsLimit) {
  std::mt19937_64 random(FreshSeed());
  const std::uint64_t most = std::uint64_t{1} << 31;
  for (const std::uint64_t n : {most, most - 1, most - 2, most / 2 + 1, most / 2, most / 2 - 1}) {
    const FeistelCipher cipher = MakeFeistelCipher(n, random());
    const auto bucket =
        BucketCipher::Make(Philox4x32::FromSeed(random()), 511, static_cast<std::uint32_t>(n));
    const std::uint64_t domain = std::uint64_t{cipher.a} * cipher.b;
    const std::uint64_t wide = std::uint64_t{bucket.a} * bucket.b;
    ASSERT_GE(domain, n);
    ASSERT_GE(wide, n);
    for (int i = 0; i < 10000; ++i) {
      const auto x = static_cast<std::uint32_t>(i == 0 ? 0 : i == 1 ? n - 1 : random() % n);
      const std::uint32_t y = cipher.Encrypt(x), z = bucket.Encrypt(x);
      ASSERT_LT(y, domain);
      ASSERT_LT(z, wide);
      ASSERT_EQ(Decrypt(cipher, y, cipher.half_rounds), x) << n;
      ASSERT_EQ(Decrypt(bucket, z, BucketCipher::kHalfRounds), x) << n;
      ASSERT_LT(cipher.CycleWalk(x), n);
      ASSERT_LT(bucket.CycleWalk(x), n);
    }
  }
}

TEST(Rectangle, PassesTheBattery) {
#ifdef RETABLE_SANITIZED
  constexpr std::uint64_t kSamples = 500;
#else
  constexpr std::uint64_t kSamples = 2000;
#endif
  for (const std::uint32_t n : {5u, 64u, 200u, 256u, 1000u, 4096u}) {
    Battery battery(n);
    Permutation order(n);
    const std::uint64_t samples = n == 5 ? 20 * kSamples : n > 1000 ? kSamples / 10 : kSamples;
    for (std::uint64_t seed = 0; seed < samples; ++seed) {
      const FeistelCipher cipher = MakeFeistelCipher(n, seed);
      for (std::uint32_t x = 0; x < n; ++x) order[x] = cipher.CycleWalk(x);
      battery.Add(order);
    }
    EXPECT_GT(BonferroniP(battery.Results()), 1e-5) << n;
  }
}

}  // namespace
}  // namespace retable::shuffle
