#include "algorithms/shuffle/shuffler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "algorithms/shuffle/bijection.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {
namespace {

std::unique_ptr<Shuffler> Make(const std::string& name, Device device = Device::kCpu) {
  return Registry<Shuffler>::Instance().Make(name, device, {});
}

bool IsPermutation(std::vector<std::uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

TEST(Shuffler, EveryCpuMethodPermutesEverySize) {
  const std::uint64_t sizes[] = {0,   1,   2,   3,    5,    8,    16,    17,
                                 255, 256, 257, 1000, 4096, 4097, 16401, 70001};
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCpu || method.name == "Gather") continue;
    const auto shuffler = method.make({});
    for (const std::uint64_t n : sizes) {
      EXPECT_TRUE(IsPermutation(shuffler->permutation(n, 42 + n))) << method.name << " n=" << n;
    }
  }
}

TEST(Shuffler, EveryItemSizeFollowsOnePermutation) {
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    const auto shuffler = method.make({});
    if (method.device != Device::kCpu || !shuffler->deterministic()) continue;
    if (method.name == "Gather") continue;
    const std::uint64_t n = 20011;
    const auto order = shuffler->permutation(n, 7);
    EXPECT_EQ(order, shuffler->permutation(n, 7)) << method.name;
    EXPECT_NE(order, shuffler->permutation(n, 8)) << method.name;
    for (const std::size_t bytes : {1, 3, 4, 8, 12, 16, 20}) {
      std::vector<std::uint64_t> in_words((n * bytes + 15) / 8 + 1), out_words(in_words.size());
      auto* in = reinterpret_cast<std::uint8_t*>(in_words.data());
      auto* out = reinterpret_cast<std::uint8_t*>(out_words.data());
      for (std::uint64_t b = 0; b < n * bytes; ++b)
        in[b] = static_cast<std::uint8_t>(b * 2654435761u >> 7);
      shuffler->shuffle(in, out, n, bytes, 7);
      for (std::uint64_t j = 0; j < n; ++j) {
        ASSERT_TRUE(std::equal(out + j * bytes, out + (j + 1) * bytes, in + order[j] * bytes))
            << method.name << " " << bytes << " bytes, place " << j;
      }
    }
  }
}

TEST(Shuffler, BadInputIsNamed) {
  const auto shuffler = Make("VarPhilox");
  std::vector<std::byte> buffer(64), other(64);
  const std::span<std::byte> all(buffer);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data() + 8, 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(nullptr, other.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), other.data(), 4, 0, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, other, 12, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, std::span<std::byte>(other).first(32), 8, 1),
               std::invalid_argument);
  EXPECT_THROW(shuffler->permutation(kMaxItems, 1), std::invalid_argument);
  EXPECT_NO_THROW(shuffler->shuffle(nullptr, nullptr, 0, 8, 1));
  EXPECT_THROW(MakeVariablePhilox(100, 1, 0), std::invalid_argument);
  EXPECT_THROW(MakePartitionPlan(kMaxPartition + 1), std::invalid_argument);
}

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
      check(MakeMendedPhilox(n, seed));
    }
  }
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
  for (const int bits : {4, 5, 9, 16, 21, 33}) {
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
    check(MakeMendedPhilox(n, 3));
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

// The published cipher yields even permutations only at powers of two from 16 on; the mended one
// both.
TEST(Bijection, ParityLockIsShownAndMended) {
  const auto published = Make("VarPhilox");
  const auto mended = Make("VarPhilox-mended");
  for (const std::uint64_t n : {16, 64, 256, 1024}) {
    int odd_published = 0, odd_mended = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      odd_published += Odd(published->permutation(n, seed));
      odd_mended += Odd(mended->permutation(n, seed));
    }
    EXPECT_EQ(odd_published, 0) << n;
    EXPECT_NEAR(odd_mended, 200, 60) << n;  // six standard deviations
  }
}

// Brute force of the definition: stable partitions by the digits, leaves sorted by key.
std::vector<std::uint64_t> PartitionByDefinition(std::uint64_t n, std::uint64_t seed) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::vector<std::vector<std::uint64_t>> buckets(plan.buckets());
  for (std::uint64_t k = 0; k < (n + 8191) / 8192 * 8192; ++k) {
    const std::uint64_t i = plan.first_bits == 0 ? k : TileOrder(k);
    if (i >= n) continue;
    const auto block = DigitBlock(random, kFirstStream, i >> 13, i & 1023);
    const std::uint32_t digit =
        plan.first_bits == 0 ? 0 : Digit(block, (i >> 10) & 7, plan.first_bits);
    buckets[digit].push_back(i);
  }
  std::vector<std::uint64_t> order;
  for (std::uint64_t b = 0; b < buckets.size(); ++b) {
    std::vector<std::vector<std::uint64_t>> leaves(plan.leaves_per_bucket());
    for (std::uint64_t k = 0; k < (buckets[b].size() + 8191) / 8192 * 8192; ++k) {
      const std::uint64_t s = plan.second_bits == 0 ? k : TileOrder(k);
      if (s >= buckets[b].size()) continue;
      const auto block = DigitBlock(random, SecondStream(b), s >> 13, s & 1023);
      const std::uint32_t q =
          plan.second_bits == 0 ? 0 : Digit(block, (s >> 10) & 7, plan.second_bits);
      leaves[q].push_back(buckets[b][s]);
    }
    for (std::uint32_t q = 0; q < leaves.size(); ++q) {
      const std::uint64_t leaf = b * leaves.size() + q;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> keyed(leaves[q].size());
      for (std::uint32_t s = 0; s < keyed.size(); ++s) keyed[s] = {LeafKey(random, leaf, s), s};
      std::sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
        if (x.first != y.first) return x.first < y.first;
        return x.second != y.second && LeafTieBefore(random, leaf, x.second, y.second);
      });
      for (const auto& [key, s] : keyed) order.push_back(leaves[q][s]);
    }
  }
  return order;
}

TEST(Partition, FollowsItsDefinition) {
  const auto shuffler = Make("Partition");
  for (const std::uint64_t n : {1, 2, 5, 127, 128, 129, 8200, 8201, 100003, (8200 << 9) + 1}) {
    EXPECT_EQ(shuffler->permutation(n, 5), PartitionByDefinition(n, 5)) << n;
  }
}

TEST(Partition, PlanKeepsLeavesSmall) {
  for (int k = 3; k <= 31; ++k) {
    for (const std::uint64_t extra : {0, 1}) {
      const std::uint64_t n = (std::uint64_t{1} << k) + extra;
      const PartitionPlan plan = MakePartitionPlan(n);
      EXPECT_LE(n >> (plan.first_bits + plan.second_bits), kLeafMean);
      EXPECT_LE(plan.first_bits, 9);
      EXPECT_LE(plan.second_bits, 9);
    }
  }
}

// Sorts by key with equal 32-bit keys forced: the further words decide, antisymmetrically.
TEST(Partition, TiesAreDecidedByFurtherWords) {
  const Philox4x32 random = Philox4x32::FromSeed(3);
  int first = 0;
  for (std::uint32_t s = 0; s < 1000; ++s) {
    EXPECT_NE(LeafTieBefore(random, 4, s, s + 1), LeafTieBefore(random, 4, s + 1, s));
    first += LeafTieBefore(random, 4, s, s + 1);
  }
  EXPECT_NEAR(first, 500, 100);
}

}  // namespace
}  // namespace retable::shuffle
