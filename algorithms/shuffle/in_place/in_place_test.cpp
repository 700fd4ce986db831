#include "algorithms/shuffle/in_place/in_place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

// With chunks of 256 items every part of the exchange runs at small sizes.
TEST(InPlace, PermutesEverySize) {
  for (const std::uint64_t n : {0, 1, 2, 255, 256, 257, 511, 513, 1000, 4096, 4097, 20011}) {
    std::vector<std::uint64_t> items(n), sorted(n);
    std::iota(sorted.begin(), sorted.end(), std::uint64_t{0});
    items = sorted;
    ShuffleInPlace(items.data(), n, 8, 7, 256);
    if (n > 100) {
      EXPECT_NE(items, sorted);
    }
    std::sort(items.begin(), items.end());
    EXPECT_EQ(items, sorted) << n;
  }
}

// The exchange moves each item into the region of its digit.
TEST(InPlace, ExchangeBalances) {
  const InPlacePlan plan = MakeInPlacePlan(20011, 1024);
  ASSERT_EQ(plan.parts, 20u);
  std::vector<std::uint32_t> starts;
  std::uint64_t bits = 1;
  for (std::uint32_t c = 0; c < plan.parts; ++c) {
    const std::uint64_t size = plan.chunk_begin(c + 1) - plan.chunk_begin(c);
    std::vector<std::uint32_t> cuts{0, static_cast<std::uint32_t>(size)};
    while (cuts.size() < plan.parts + 1) {
      bits = bits * 6364136223846793005ull + 1442695040888963407ull;
      cuts.push_back(static_cast<std::uint32_t>((bits >> 33) % (size + 1)));
    }
    std::sort(cuts.begin(), cuts.end());
    // Spread the sizes over the digits, so that regions stay near their chunks.
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t d = 0; d < plan.parts; ++d) sizes.push_back(cuts[d + 1] - cuts[d]);
    std::rotate(sizes.begin(), sizes.begin() + c, sizes.end());
    starts.push_back(0);
    for (const std::uint32_t s : sizes) starts.push_back(starts.back() + s);
  }
  const Exchange exchange = MakeExchange(plan, starts);
  EXPECT_EQ(exchange.begins.back(), 20011u);
  std::uint64_t total = 0;
  std::vector<int> into(exchange.buffer, 0), from(exchange.buffer, 0);
  std::vector<bool> seen(20011, false);
  for (std::uint32_t b = 0; b < plan.parts; ++b) {
    for (std::uint32_t d = 0; d < plan.parts; ++d) {
      const Holding& h = exchange.holdings[b * plan.parts + d];
      EXPECT_EQ(h.kept, std::min(h.size, exchange.holdings[d * plan.parts + b].size));
      for (std::uint32_t k = 0; k < h.size; ++k) {
        EXPECT_GE(h.place(k), exchange.begins[b]);
        EXPECT_LT(h.place(k), exchange.begins[b + 1]);
        EXPECT_FALSE(seen[h.place(k)]);
        seen[h.place(k)] = true;
      }
      total += h.size;
      for (std::uint32_t k = 0; k < h.size - h.kept; ++k) {
        ++into[h.into + k];
        ++from[h.from + k];
      }
    }
  }
  EXPECT_EQ(total, 20011u);
  EXPECT_EQ(into, std::vector<int>(exchange.buffer, 1));
  EXPECT_EQ(from, std::vector<int>(exchange.buffer, 1));
}

TEST(InPlace, BufferIsLargeEnough) {
  const InPlacePlan plan = MakeInPlacePlan(std::uint64_t{1} << 20, 4096);
  std::vector<std::uint32_t> starts(plan.parts * (plan.parts + 1));
  const Philox4x32 random = Philox4x32::FromSeed(1);
  for (std::uint32_t c = 0; c < plan.parts; ++c) {
    std::vector<std::uint32_t> count(plan.parts, 0);
    for (std::uint64_t i = plan.chunk_begin(c); i < plan.chunk_begin(c + 1); ++i) {
      ++count[random.Block(i).word[0] % plan.parts];
    }
    for (std::uint32_t d = 0; d < plan.parts; ++d) {
      starts[c * (plan.parts + 1) + d + 1] = starts[c * (plan.parts + 1) + d] + count[d];
    }
  }
  const Exchange exchange = MakeExchange(plan, starts);
  EXPECT_LE(exchange.buffer, ExchangeBuffer(plan));
  EXPECT_GE(exchange.buffer, ExchangeBuffer(plan) / 3);
}

TEST(InPlace, FromArrayToArrayGivesTheSameOrder) {
  for (const std::uint64_t n : {0, 1, 256, 513, 20011, 300007}) {
    std::vector<std::uint64_t> items(n), out(n, 7);
    std::iota(items.begin(), items.end(), std::uint64_t{0});
    const auto in = items;
    ShuffleByExchange(in.data(), out.data(), n, 8, 9, 1024);
    ShuffleInPlace(items.data(), n, 8, 9, 1024);
    EXPECT_EQ(out, items) << n;
  }
}

// Chunks of any number of items up to 2^36, so few that the partition's digits name them, and so
// short that their places take 32 bits.
TEST(InPlace, PlansReachEveryItem) {
  for (int k = 20; k <= 36; ++k) {
    const std::uint64_t n = (std::uint64_t{1} << k) - (k == 36 ? 0 : 255);
    const InPlacePlan plan = MakeInPlacePlan(n);
    EXPECT_LE(plan.parts, kMaxDigits);
    EXPECT_LT(plan.chunk, std::uint64_t{1} << 28);
    EXPECT_EQ(plan.chunk % 256, 0u);
    EXPECT_EQ(plan.chunk_begin(plan.parts), n);
  }
  EXPECT_EQ(MakeInPlacePlan(std::uint64_t{1} << 31).parts, 256u);
  EXPECT_THROW(MakeInPlacePlan(kMaxItems + 1), std::invalid_argument);
}

// Segments of a row of chunks whose places need more than 32 bits.
TEST(InPlace, ExchangesPlacesPastTwoToThe32) {
  const InPlacePlan plan = MakeInPlacePlan(std::uint64_t{5} << 30);
  std::vector<std::uint32_t> starts;
  for (std::uint64_t c = 0; c < plan.parts; ++c) {
    const std::uint64_t size = plan.chunk_begin(c + 1) - plan.chunk_begin(c);
    for (std::uint64_t d = 0; d <= plan.parts; ++d) {
      starts.push_back(static_cast<std::uint32_t>(size * d / plan.parts));
    }
  }
  const Exchange exchange = MakeExchange(plan, starts);
  ASSERT_EQ(exchange.begins.back(), plan.n);
  const std::uint64_t last = plan.parts - 1;
  const Holding& own = exchange.holdings[last * plan.parts + last];
  EXPECT_EQ(own.place(own.size - 1), plan.n - 1);
  std::uint64_t held = 0;
  for (const Holding& h : exchange.holdings) held += h.size;
  EXPECT_EQ(held, plan.n);
}

// Where an item of each quarter goes: 16 cells of equal expectation.
TEST(InPlace, SpreadsItemsEvenly) {
  const std::uint64_t n = 1024;
  std::vector<std::uint32_t> cell(16, 0);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<std::uint32_t> items(n);
    std::iota(items.begin(), items.end(), 0u);
    ShuffleInPlace(items.data(), n, 4, seed, 256);
    for (std::uint64_t p = 0; p < n; ++p) ++cell[p / 256 * 4 + items[p] / 256];
  }
  for (const std::uint32_t count : cell) EXPECT_NEAR(count, 200 * n / 16, 600);  // six deviations
}

}  // namespace
}  // namespace retable::shuffle
