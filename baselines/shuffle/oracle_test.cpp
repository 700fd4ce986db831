// Every registered shuffler against what is known of uniform orders: exact counts of all n! of
// them up to n = 6, and moments of seven statistics at other n. A shuffler's row in kPromises says
// what it is held to.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/shuffle/testing/cuda_methods.hpp"
#endif

namespace retable::shuffle {
namespace {

enum class Promise {
  kUniform,        // every order equally likely, given ideal bits
  kNoFaultKnown,   // held to the same tests, without a proof
  kPermutation,    // no more: a fault is known, which these tests need not see
  kVisibleFault,   // a permutation, and so far from uniform that the counts must show it
  kNoPermutation,  // values repeat
};

// VarPhilox, and thrust after it, yield even orders only where n is a power of two from 16 on.
const std::map<std::string, Promise> kPromises = {
    {"DartThrowing", Promise::kUniform},
    {"FisherYates", Promise::kUniform},
    {"Gather", Promise::kNoPermutation},
    {"InPlace", Promise::kUniform},
    {"LCG", Promise::kVisibleFault},
    {"MergeShuffle", Promise::kUniform},
    {"Partition", Promise::kUniform},
    {"RS", Promise::kUniform},
    {"Rectangle", Promise::kNoFaultKnown},
    {"Shuffle", Promise::kNoFaultKnown},
    {"SortIslands", Promise::kUniform},
    {"SortShuffle", Promise::kUniform},
    {"SplitRectangle", Promise::kNoFaultKnown},
    {"VarPhilox", Promise::kPermutation},
    {"VarPhilox-mended", Promise::kNoFaultKnown},
    {"std::shuffle", Promise::kUniform},
    {"thrust", Promise::kPermutation},
};

bool IsHeldToUniform(Promise promise) {
  return promise == Promise::kUniform || promise == Promise::kNoFaultKnown;
}

// A shuffler under test; its buckets as small as they get where it has any.
struct Tested {
  std::string name;
  Promise promise;
  std::unique_ptr<Shuffler> shuffler;
};

std::vector<Tested> TestedShufflers(Device device) {
  std::vector<Tested> tested;
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != device) continue;
    const auto promise = kPromises.find(method.name);
    if (promise == kPromises.end()) {
      ADD_FAILURE() << method.name << ": say in kPromises what it promises";
      continue;
    }
    if (promise->second == Promise::kNoPermutation) continue;
    tested.push_back({method.name, promise->second, method.make({})});
    for (const auto& parameter : method.parameters) {
      if (parameter.name != "bucket") continue;
      tested.push_back({method.name + " in small buckets", promise->second,
                        method.make({{"bucket", std::int64_t{2}}})});
    }
  }
  return tested;
}

Permutation Draw(Shuffler& shuffler, std::uint32_t n, std::uint64_t seed) {
  Permutation identity(n), order(n);
  std::iota(identity.begin(), identity.end(), 0u);
  shuffler.shuffle(identity.data(), order.data(), n, sizeof(std::uint32_t), seed);
  return order;
}

bool IsPermutation(Permutation order) {
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// Of all tests of a run together, whatever its length: each is made once, on all that was drawn.
constexpr double kFalseAlarms = 1e-6;

// The counts of all n! orders for n = 2 .. most, by consecutive seeds as users take them.
void CheckCountsOfAllOrders(Device device, std::uint32_t most, std::uint64_t least_draws) {
  const std::uint64_t seed = FreshSeed();
  auto tested = TestedShufflers(device);
  std::vector<std::vector<std::uint64_t>> counts(tested.size() * (most + 1));
  std::uint64_t first = seed << 32;
  OracleClock clock;
  for (; clock.more(); first += 1 << 20) {
    for (std::size_t t = 0; t < tested.size(); ++t) {
      std::uint64_t orders = 1;
      for (std::uint32_t n = 2; n <= most; ++n) {
        orders *= n;
        auto& count = counts[t * (most + 1) + n];
        count.resize(orders);
        for (std::uint64_t s = 0; s < std::max(5 * orders, least_draws); ++s) {
          const Permutation order = Draw(*tested[t].shuffler, n, first + s);
          ASSERT_TRUE(IsPermutation(order))
              << tested[t].name << " n=" << n << " seed " << first + s;
          ++count[PermutationRank(order)];
        }
      }
    }
  }
  const double alpha = kFalseAlarms / static_cast<double>(tested.size() * (most - 1));
  std::uint64_t drawn = 0;
  for (std::size_t t = 0; t < tested.size(); ++t) {
    double least = 1;
    for (std::uint32_t n = 2; n <= most; ++n) {
      const auto& count = counts[t * (most + 1) + n];
      drawn += std::accumulate(count.begin(), count.end(), std::uint64_t{0});
      const double p = ChiSquaredTail(ChiSquared(count), static_cast<double>(count.size() - 1));
      least = std::min(least, p);
      if (IsHeldToUniform(tested[t].promise)) {
        EXPECT_GT(p, alpha) << tested[t].name << ": orders of " << n << " are not equally likely";
      }
    }
    if (tested[t].promise == Promise::kVisibleFault) {
      EXPECT_LT(least, alpha) << tested[t].name << ": its fault is not seen";
    }
  }
  std::cout << drawn << " orders of 2 to " << most << " items by " << tested.size() << " shufflers"
            << std::endl;
}

TEST(OracleShufflers, CountsOfAllOrdersAreEven) {
  CheckCountsOfAllOrders(Device::kCpu, 6, 1000);
}

// --- Statistics of an order, and their mean and variance over all n! orders. ---------------------

// Length of the longest increasing subsequence, by patience sorting.
double LongestIncreasing(const Permutation& order) {
  std::vector<std::uint32_t> piles;
  for (const std::uint32_t value : order) {
    const auto pile = std::lower_bound(piles.begin(), piles.end(), value);
    if (pile == piles.end()) {
      piles.push_back(value);
    } else {
      *pile = value;
    }
  }
  return static_cast<double>(piles.size());
}

// Spearman's footrule: how far items move, summed up.
double Footrule(const Permutation& order) {
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sum += std::fabs(static_cast<double>(order[i]) - static_cast<double>(i));
  }
  return sum;
}

// Places where an item is followed by its successor.
double Successions(const Permutation& order) {
  double count = 0;
  for (std::size_t i = 1; i < order.size(); ++i) count += order[i] == order[i - 1] + 1;
  return count;
}

struct Moments {
  double mean = 0, variance = 0;
};

// By the correspondence of Robinson and Schensted: the first row of a shape drawn with probability
// f^2 / n!, f = n! / (product of its hooks).
Moments LongestIncreasingMoments(std::uint32_t n) {
  double mean = 0, square = 0;
  std::vector<std::uint32_t> rows;
  const auto visit = [&] {
    double log_probability = std::lgamma(n + 1.0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::uint32_t c = 0; c < rows[r]; ++c) {
        std::size_t below = r;
        while (below + 1 < rows.size() && rows[below + 1] > c) ++below;
        log_probability -= 2 * std::log(static_cast<double>(rows[r] - c + (below - r)));
      }
    }
    const double probability = std::exp(log_probability), length = rows[0];
    mean += probability * length;
    square += probability * length * length;
  };
  const auto partitions = [&](const auto& self, std::uint32_t left, std::uint32_t most) -> void {
    if (left == 0) return visit();
    for (std::uint32_t row = std::min(left, most); row > 0; --row) {
      rows.push_back(row);
      self(self, left - row, row);
      rows.pop_back();
    }
  };
  partitions(partitions, n, n);
  return {mean, square - mean * mean};
}

struct Statistic {
  std::string name;
  std::uint32_t most;  // the largest n at which its moments are at hand
  double (*of)(const Permutation&);
  Moments (*moments)(std::uint32_t);
};

// Fixed points: de Montmort 1708. Ascents and inversions: Knuth, TAOCP 3, 5.1. Cycles: TAOCP 1,
// 1.2.10. Footrule: Diaconis and Graham 1977. Successions: Kaplansky 1945. Longest increasing
// subsequence: Schensted 1961. All n >= 2.
const std::vector<Statistic>& Statistics() {
  static const std::vector<Statistic> all = {
      {"fixed points", ~0u,
       [](const Permutation& p) { return static_cast<double>(FixedPoints(p)); },
       [](std::uint32_t) {
         return Moments{1, 1};
       }},
      {"ascents", ~0u, [](const Permutation& p) { return static_cast<double>(Ascents(p)); },
       [](std::uint32_t n) {
         return Moments{(n - 1.0) / 2, (n + 1.0) / 12};
       }},
      {"inversions", ~0u, [](const Permutation& p) { return static_cast<double>(Inversions(p)); },
       [](std::uint32_t n) {
         return Moments{n * (n - 1.0) / 4, n * (n - 1.0) * (2.0 * n + 5) / 72};
       }},
      {"cycles", ~0u, [](const Permutation& p) { return static_cast<double>(Cycles(p)); },
       [](std::uint32_t n) {
         Moments moments;
         for (double k = 1; k <= n; ++k) {
           moments.mean += 1 / k;
           moments.variance += 1 / k - 1 / (k * k);
         }
         return moments;
       }},
      {"footrule", ~0u, Footrule,
       [](std::uint32_t n) {
         const double size = n;
         return Moments{(size * size - 1) / 3, (size + 1) * (2 * size * size + 7) / 45};
       }},
      {"successions", ~0u, Successions,
       [](std::uint32_t n) {
         const double mean = (n - 1.0) / n;
         return Moments{mean, (n - 2.0) / n + mean - mean * mean};
       }},
      {"longest increasing subsequence", 33, LongestIncreasing, LongestIncreasingMoments},
  };
  return all;
}

TEST(OracleStatistics, MomentsAreThoseOfAllOrders) {
  for (std::uint32_t n = 2; n <= 7; ++n) {
    for (const Statistic& statistic : Statistics()) {
      Permutation order(n);
      std::iota(order.begin(), order.end(), 0u);
      double count = 0, sum = 0, squares = 0;
      do {
        const double value = statistic.of(order);
        ++count;
        sum += value;
        squares += value * value;
      } while (std::next_permutation(order.begin(), order.end()));
      const Moments moments = statistic.moments(n);
      EXPECT_NEAR(moments.mean, sum / count, 1e-9) << statistic.name << " n=" << n;
      EXPECT_NEAR(moments.variance, squares / count - sum * sum / count / count, 1e-9)
          << statistic.name << " n=" << n;
    }
  }
}

// Sums of powers of a statistic's distance from its mean.
struct Deviations {
  double count = 0, first = 0, second = 0, fourth = 0;
  void Add(double distance) {
    const double square = distance * distance;
    ++count;
    first += distance;
    second += square;
    fourth += square * square;
  }
};

// Deviations of a mean that none may show: once in 10^10 where it is normal. Means of many values
// of a skewed statistic are so but nearly, which this leaves room for.
constexpr double kMostDeviations = 6.5;

// Sizes at which the methods take their several paths: the ciphers' small and large domains, one
// and two buckets of "Partition", blocks and merges of "MergeShuffle" and "RS".
std::uint64_t DrawsOf(std::uint32_t n) {
  return n <= 64 ? 600 : n <= 1000 ? 60 : n < 10000 ? 4 : 1;
}

TEST(OracleShufflers, StatisticsHaveTheirMoments) {
  const std::uint64_t seed = FreshSeed();
  const std::vector<std::uint32_t> sizes = {8, 16, 17, 33, 64, 255, 1000, 9001, 70001};
  auto tested = TestedShufflers(Device::kCpu);
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<Deviations>> sums;
  std::map<std::uint32_t, std::vector<Moments>> expected;
  for (const std::uint32_t n : sizes) {
    for (const Statistic& statistic : Statistics()) {
      expected[n].push_back(n <= statistic.most ? statistic.moments(n) : Moments{});
    }
  }
  std::uint64_t first = (seed ^ 0x5DEECE66Du) << 32, drawn = 0;
  for (OracleClock clock; clock.more(); first += 1 << 16) {
    for (std::size_t t = 0; t < tested.size(); ++t) {
      if (!IsHeldToUniform(tested[t].promise)) continue;
      for (const std::uint32_t n : sizes) {
        auto& sum = sums[{t, n}];
        sum.resize(Statistics().size());
        for (std::uint64_t s = 0; s < DrawsOf(n); ++s) {
          const Permutation order = Draw(*tested[t].shuffler, n, first + s);
          ++drawn;
          for (std::size_t k = 0; k < sum.size(); ++k) {
            if (n > Statistics()[k].most) continue;
            sum[k].Add(Statistics()[k].of(order) - expected[n][k].mean);
          }
        }
      }
    }
  }
  for (const auto& [key, sum] : sums) {
    for (std::size_t k = 0; k < sum.size(); ++k) {
      const Deviations& d = sum[k];
      if (d.count == 0) continue;
      const std::string what = tested[key.first].name + ", n=" + std::to_string(key.second) + ": " +
                               Statistics()[k].name;
      const double variance = expected[key.second][k].variance;
      EXPECT_LT(std::fabs(d.first) / std::sqrt(d.count * variance), kMostDeviations) << what;
      // The variance of squares from the sample itself: it wants many.
      if (d.count < 500) continue;
      const double spread = std::sqrt(d.fourth / d.count - variance * variance);
      const double off = (d.second / d.count - variance) * std::sqrt(d.count) / spread;
      EXPECT_LT(std::fabs(off), kMostDeviations) << what << " (variance)";
    }
  }
  std::cout << drawn << " orders of 8 to 70001 items" << std::endl;
}

// --- Any n, any size of item, any address. -------------------------------------------------------

struct NastyCase {
  std::uint64_t n, seed;
  std::size_t item_bytes, offset;
};

// Powers of two and their neighbours, as far as 2^17 + 1.
NastyCase DrawCase(std::mt19937_64& random) {
  const std::size_t bytes[] = {1, 2, 3, 4, 8, 12, 16, 24, 40};
  const std::uint64_t power = std::uint64_t{1} << random() % 18;
  const std::uint64_t n = random() % 8 == 0 ? random() % 3 : power + random() % 3 - 1;
  return {n, random(), bytes[random() % std::size(bytes)], random() % 17};
}

// Empty when the case comes out right, else what does not.
std::string Failure(const Tested& tested, const NastyCase& c) {
  const std::size_t bytes = c.n * c.item_bytes;
  std::vector<std::uint8_t> in(bytes + c.offset + 16, 0xEE), out(in);
  for (std::size_t b = 0; b < bytes; ++b) {
    in[c.offset + b] = static_cast<std::uint8_t>((b + c.seed) * 0x9E3779B97F4A7C15u >> 37);
  }
  const std::vector<std::uint8_t> untouched(in);
  tested.shuffler->shuffle(in.data() + c.offset, out.data() + c.offset, c.n, c.item_bytes, c.seed);
  if (in != untouched) return "the input has changed";
  const auto is_poison = [](std::uint8_t byte) { return byte == 0xEE; };
  if (!std::all_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(c.offset), is_poison) ||
      !std::all_of(out.begin() + static_cast<std::ptrdiff_t>(c.offset + bytes), out.end(),
                   is_poison)) {
    return "what is beside the output has changed";
  }
  const auto items_of = [&](const std::vector<std::uint8_t>& memory) {
    std::vector<std::string> items(c.n);
    for (std::uint64_t i = 0; i < c.n; ++i) {
      const auto* item = memory.data() + c.offset + i * c.item_bytes;
      items[i].assign(reinterpret_cast<const char*>(item), c.item_bytes);
    }
    return items;
  };
  std::vector<std::string> before = items_of(in), after = items_of(out);
  std::vector<std::uint8_t> again(out.size(), 0xEE);
  tested.shuffler->shuffle(in.data() + c.offset, again.data() + c.offset, c.n, c.item_bytes,
                           c.seed);
  if (tested.shuffler->deterministic() && again != out) return "the second call differs";
  // Up to 2^17 + 1 items every method has one order for items of all sizes.
  const std::vector<std::uint64_t> order = tested.shuffler->permutation(c.n, c.seed);
  for (std::uint64_t j = 0; tested.shuffler->deterministic() && j < c.n; ++j) {
    if (after[j] != before[order[j]]) return "not the permutation's order";
  }
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  return before == after ? "" : "items are lost";
}

void CheckNastySizes(Device device) {
  std::mt19937_64 random(FreshSeed());
  const auto tested = TestedShufflers(device);
  std::size_t cases = 0;
  for (OracleClock clock; clock.more();) {
    for (const Tested& one : tested) {
      NastyCase c = DrawCase(random);
      if (device == Device::kCuda && one.name == "InPlace" && c.item_bytes == 16) continue;
      ++cases;
      std::string failure = Failure(one, c);
      if (failure.empty()) continue;
      // The smallest: halves of n, then the plainest items.
      for (NastyCase smaller = c; smaller.n > 0;) {
        smaller.n /= 2;
        if (const std::string other = Failure(one, smaller); !other.empty()) {
          failure = other;
          c = smaller;
        }
      }
      for (NastyCase plainer :
           {NastyCase{c.n, c.seed, 8, 0}, NastyCase{c.n, c.seed, c.item_bytes, 0}}) {
        if (const std::string other = Failure(one, plainer); !other.empty()) {
          failure = other;
          c = plainer;
          break;
        }
      }
      FAIL() << one.name << ": " << failure << ": n=" << c.n << ", seed " << c.seed << ", items of "
             << c.item_bytes << " bytes at an offset of " << c.offset;
    }
  }
  std::cout << cases << " cases" << std::endl;
}

TEST(OracleShufflers, EveryCaseIsAPermutation) {
  CheckNastySizes(Device::kCpu);
}

#if defined(RETABLE_HAS_CUDA)

class CudaOracleShufflers : public CudaTest {};

TEST_F(CudaOracleShufflers, CountsOfAllOrdersAreEven) {
  CheckCountsOfAllOrders(Device::kCuda, 5, 300);
}

TEST_F(CudaOracleShufflers, EveryCaseIsAPermutation) {
  CheckNastySizes(Device::kCuda);
}

// The same bits as the CPU where a method has both backends and one order a seed.
TEST_F(CudaOracleShufflers, EqualTheCpu) {
  std::mt19937_64 random(seed);
  const auto tested = TestedShufflers(Device::kCuda);
  for (OracleClock clock; clock.more();) {
    for (const Tested& one : tested) {
      const auto* cpu = Registry<Shuffler>::Instance().Find(one.name, Device::kCpu);
      if (cpu == nullptr || !one.shuffler->deterministic()) continue;
      const NastyCase c = DrawCase(random);
      EXPECT_EQ(one.shuffler->permutation(c.n, c.seed), cpu->make({})->permutation(c.n, c.seed))
          << one.name << ": n=" << c.n << ", seed " << c.seed;
    }
  }
}

#endif

}  // namespace
}  // namespace retable::shuffle
