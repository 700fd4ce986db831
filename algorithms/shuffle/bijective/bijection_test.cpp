#include "algorithms/shuffle/bijective/bijection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "algorithms/shuffle/shuffler.hpp"
#include "base/seed_testing.hpp"

namespace retable::shuffle {
namespace {

TEST(Bijection, IsOneToOneAtEveryWidth) {
  for (int bits = 0; bits <= 13; ++bits) {
    const std::uint64_t n = std::uint64_t{1} << bits;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto check = [&](const auto& f) {
        std::set<std::uint64_t> values;
        for (std::uint64_t x = 0; x < f.size(); ++x) values.insert(f(x));
        EXPECT_EQ(values.size(), f.size());
        EXPECT_LT(*values.rbegin(), f.size());
        EXPECT_GE(f.size(), n);
      };
      check(MakeLcg(n, seed));
      for (const int rounds : {1, 7, 24}) check(MakeVariablePhilox(n, seed, rounds));
      check(MakeWhitenedPhilox(n, seed));
    }
  }
}

// Undoes VariablePhilox round by round.
std::uint64_t Decrypt(const VariablePhilox& f, std::uint64_t y) {
  std::uint32_t inverse = 0xB1CE6E93u;  // of the multiplier's low word modulo 2^32, by Newton
  for (int i = 0; i < 5; ++i) inverse *= 2 - 0xB1CE6E93u * inverse;
  const std::uint32_t extra = f.right_bits - f.left_bits;  // 0 or 1
  auto left = static_cast<std::uint32_t>(y >> f.right_bits);
  std::uint32_t right = static_cast<std::uint32_t>(y) & f.right_mask;
  for (int r = f.rounds; r-- > 0;) {
    const std::uint32_t before = ((right >> extra) * inverse) & f.left_mask;
    const auto high = static_cast<std::uint32_t>((0xD2B74407B1CE6E93ull * before) >> 32);
    const std::uint32_t low_bits = (left ^ high ^ f.key[r]) & f.left_mask;
    right = extra == 0 ? low_bits : (low_bits | ((right & 1) << f.left_bits));
    left = before;
  }
  return (std::uint64_t{left} << f.right_bits) | right;
}

// What cannot be enumerated is undone: random values, and those at the ends of the halves.
TEST(Bijection, IsUndoneAtEveryWidth) {
  std::mt19937_64 random(FreshSeed());
  for (int bits = 4; bits <= 63; ++bits) {
    const std::uint64_t n = std::uint64_t{1} << bits;
    for (const std::uint64_t size : {n, n - 1, n / 2 + 1}) {
      const VariablePhilox f = MakeVariablePhilox(size, random(), 24);
      const WhitenedPhilox whitened = MakeWhitenedPhilox(size, random());
      const Lcg lcg = MakeLcg(size, random());
      ASSERT_EQ(f.size(), n);
      const std::uint64_t last = n - 1, half = std::uint64_t{1} << f.right_bits;
      for (int i = 0; i < 40; ++i) {
        const std::uint64_t edges[] = {0, 1, last, last - 1, half, half - 1, n / 2, n / 2 - 1};
        const std::uint64_t x = i < 8 ? edges[i] : random() & last;
        ASSERT_LE(f(x), last);
        ASSERT_EQ(Decrypt(f, f(x)), x) << bits << " bits";
        const std::uint64_t wide = whitened.size() - 1, added = x & wide;
        ASSERT_LE(whitened(added), wide);
        ASSERT_EQ((Decrypt(whitened.cipher, whitened(added)) - whitened.add) & wide, added);
        std::uint64_t inverse = lcg.a;  // of an odd number modulo 2^64: three bits right, then 6...
        for (int step = 0; step < 5; ++step) inverse *= 2 - lcg.a * inverse;
        ASSERT_EQ((inverse * (lcg(x) - lcg.c)) & lcg.mask, x & lcg.mask);
      }
    }
  }
}

TEST(Bijection, TooManyValuesAreAnError) {
  for (const std::uint64_t n : {kMaxBijection + 1, ~std::uint64_t{0}}) {
    EXPECT_THROW(MakeLcg(n, 1), std::invalid_argument);
    EXPECT_THROW(MakeVariablePhilox(n, 1), std::invalid_argument);
    EXPECT_THROW(MakeWhitenedPhilox(n, 1), std::invalid_argument);
  }
  EXPECT_EQ(MakeLcg(kMaxBijection, 1).size(), kMaxBijection);
  EXPECT_EQ(MakeWhitenedPhilox(kMaxBijection - 1, 1).size(), kMaxBijection);
}

TEST(Bijection, FollowsTheListingOfThePaper) {
  // Two rounds over 7 bits (3 left, 4 right) by hand from listing 1.
  VariablePhilox f = MakeVariablePhilox(128, 9, 2);
  ASSERT_EQ(f.left_bits, 3u);
  ASSERT_EQ(f.right_bits, 4u);
  for (std::uint64_t x = 0; x < 128; ++x) {
    std::uint32_t s0 = static_cast<std::uint32_t>(x >> 4), s1 = x & 15;
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t product = 0xD2B74407B1CE6E93ull * s0;
      const std::uint32_t lo = (static_cast<std::uint32_t>(product) << 1) | (s1 >> 3);
      s0 = ((static_cast<std::uint32_t>(product >> 32) ^ f.key[i]) ^ s1) & 7;
      s1 = lo & 15;
    }
    EXPECT_EQ(f(x), (std::uint64_t{s0} << 4) | s1);
  }
}

TEST(Bijection, BatchesAreTheValuesOneByOne) {
  for (const int bits : {4, 5, 9, 16, 21, 31, 32, 33, 53, 61, 62, 63}) {
    const std::uint64_t n = std::uint64_t{1} << bits;
    const auto check = [&](const auto& f) {
      const std::uint64_t first = f.size() / 3,
                          count = std::min<std::uint64_t>(f.size() - first, 200);
      std::vector<std::uint64_t> values(count);
      EvaluateMany(f, first, count, values.data());
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], f(first + i)) << bits;
    };
    check(MakeLcg(n, 3));
    check(MakeVariablePhilox(n, 3, 24));
    check(MakeWhitenedPhilox(n, 3));
  }
}

bool Odd(const std::vector<std::uint64_t>& order) {
  std::vector<bool> seen(order.size(), false);
  std::uint64_t cycles = 0;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    if (seen[i]) continue;
    ++cycles;
    for (std::uint64_t j = i; !seen[j]; j = order[j]) seen[j] = true;
  }
  return (order.size() - cycles) % 2 == 1;
}

// The published cipher yields even permutations only at powers of two from 16 on; the whitened one
// both.
TEST(Bijection, ParityLockIsShownAndRemoved) {
  const auto published = Registry<Shuffler>::Instance().Make("VarPhilox", Device::kCpu, {});
  const auto whitened = Registry<Shuffler>::Instance().Make("VarPhilox-mended", Device::kCpu, {});
  for (const std::uint64_t n : {16, 64, 256, 1024}) {
    int odd_published = 0, odd_whitened = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      odd_published += Odd(published->permutation(n, seed));
      odd_whitened += Odd(whitened->permutation(n, seed));
    }
    EXPECT_EQ(odd_published, 0) << n;
    EXPECT_NEAR(odd_whitened, 200, 60) << n;  // six standard deviations
  }
}

}  // namespace
}  // namespace retable::shuffle
