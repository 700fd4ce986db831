#include "algorithms/shuffle/shuffler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "algorithms/shuffle/bijection.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition.hpp"
#include "base/parallel.hpp"

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
  const auto shuffle_leaf = [&](std::uint64_t leaf, const std::vector<std::uint64_t>& slots) {
    std::vector<std::size_t> sizes;
    const auto binned = SortedByDigit(random, LeafStream(leaf), kBins, slots, &sizes);
    ForEachPart(binned, sizes, [&](std::uint64_t bin, std::vector<std::uint64_t> part) {
      const auto b = static_cast<std::uint32_t>(bin);
      if (part.size() <= kSmallBin) {
        const auto places =
            UniformSmallOrder(random, leaf, b, static_cast<std::uint32_t>(part.size()),
                              SwapBlock(random, leaf, b / 4).word[b % 4]);
        const auto slots_of_bin = part;
        for (std::size_t r = 0; r < part.size(); ++r)
          part[(places >> (4 * r)) & 15] = slots_of_bin[r];
      } else {
        for (std::uint32_t k = 1; k < part.size(); ++k) {
          std::swap(part[k], part[LargeSwap(random, leaf, b, k)]);
        }
      }
      order.insert(order.end(), part.begin(), part.end());
    });
  };
  std::vector<std::size_t> sizes;
  const auto buckets = SortedByDigit(random, kFirstStream, plan.buckets, all, &sizes);
  ForEachPart(buckets, sizes, [&](std::uint64_t bucket, const std::vector<std::uint64_t>& part) {
    std::vector<std::size_t> leaf_sizes;
    const auto leaves =
        SortedByDigit(random, SecondStream(bucket), plan.leaves_per_bucket, part, &leaf_sizes);
    ForEachPart(leaves, leaf_sizes, [&](std::uint64_t leaf, const auto& slots) {
      shuffle_leaf(bucket * plan.leaves_per_bucket + leaf, slots);
    });
  });
  return order;
}

TEST(Partition, FollowsItsDefinition) {
  const auto shuffler = Make("Partition");
  for (const std::uint64_t n :
       {1, 2, 5, 127, 128, 129, 7168, 7169, 100003, 300007, 6620 * 572 + 1}) {
    EXPECT_EQ(shuffler->permutation(n, 5), PartitionByDefinition(n, 5)) << n;
  }
}

// One thread splits in one pass, several count first.
TEST(Partition, OrderDoesNotDependOnTheThreads) {
  const auto shuffler = Make("Partition");
  for (const std::uint64_t n : {20000, 300007, 1000003}) {
    std::vector<std::uint64_t> alone;
    WithThreads(1, [&] { alone = shuffler->permutation(n, 6); });
    EXPECT_EQ(alone, shuffler->permutation(n, 6)) << n;
  }
}

TEST(Partition, PlanKeepsLeavesSmall) {
  for (int k = 3; k <= 31; ++k) {
    for (const std::uint64_t extra : {0, 1}) {
      const std::uint64_t n = (std::uint64_t{1} << k) + extra;
      const PartitionPlan plan = MakePartitionPlan(n);
      EXPECT_LE(n / plan.leaves(), plan.leaves() == 1 ? kLeafCapacity : kLeafMean);
      EXPECT_GE(n / plan.leaves(), n > kLeafCapacity ? kLeafMean / 2 : 0);
      EXPECT_LE(plan.buckets, kMaxDigits);
      EXPECT_LE(plan.leaves_per_bucket, kMaxDigits);
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
