// Packings against plain quadratic versions of the textbook, and the paper's worst cases.

#include "algorithms/treeshap/published/bin_packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "algorithms/common/philox.hpp"

namespace retable::treeshap {
namespace {

std::vector<std::int32_t> RandomSizes(std::size_t n, std::int32_t most, std::uint64_t seed) {
  const Philox4x32 philox = Philox4x32::FromSeed(seed);
  std::vector<std::int32_t> sizes(n);
  for (std::size_t i = 0; i < n; ++i) {
    sizes[i] = 1 + static_cast<std::int32_t>(
                       UniformBelow(philox.Block(i).half(0), static_cast<std::uint64_t>(most)));
  }
  return sizes;
}

// Bins of first or best fit by plain search.
std::size_t PlainBins(std::vector<std::int32_t> sizes, bool best) {
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<std::int32_t> rooms;
  for (const auto size : sizes) {
    auto chosen = rooms.end();
    for (auto it = rooms.begin(); it != rooms.end(); ++it) {
      if (*it < size) continue;
      if (chosen == rooms.end() || (best && *it < *chosen)) chosen = it;
    }
    if (chosen == rooms.end()) chosen = rooms.insert(rooms.end(), 32);
    *chosen -= size;
  }
  return rooms.size();
}

void ExpectValid(const Bins& bins, const std::vector<std::int32_t>& sizes) {
  std::vector<int> seen(sizes.size(), 0);
  for (std::size_t b = 0; b < bins.count(); ++b) {
    std::int32_t load = 0;
    for (std::size_t i = bins.offsets[b]; i < bins.offsets[b + 1]; ++i) {
      load += sizes[bins.items[i]];
      ++seen[bins.items[i]];
    }
    EXPECT_LE(load, 32);
    EXPECT_GT(load, 0);
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int s) { return s == 1; }));
}

TEST(Pack, IsTheTextbooks) {
  for (const std::size_t n : {0u, 1u, 2u, 31u, 100u, 700u}) {
    for (const std::int32_t most : {1, 5, 17, 32}) {
      const auto sizes = RandomSizes(n, most, n + static_cast<std::size_t>(most));
      for (const Packing packing : {Packing::kNone, Packing::kNextFit, Packing::kFirstFitDecreasing,
                                    Packing::kBestFitDecreasing}) {
        ExpectValid(Pack(packing, sizes), sizes);
      }
      EXPECT_EQ(Pack(Packing::kNone, sizes).count(), n);
      EXPECT_EQ(Pack(Packing::kFirstFitDecreasing, sizes).count(), PlainBins(sizes, false));
      EXPECT_EQ(Pack(Packing::kBestFitDecreasing, sizes).count(), PlainBins(sizes, true));
    }
  }
}

TEST(Pack, NextFitKeepsOneBinOpen) {
  EXPECT_EQ(Pack(Packing::kNextFit, std::vector<std::int32_t>{17, 16, 15, 2}).count(), 3u);
  EXPECT_EQ(Pack(Packing::kBestFitDecreasing, std::vector<std::int32_t>{17, 16, 15, 2}).count(),
            2u);
}

TEST(Pack, RefusesItemsThatDoNotFit) {
  EXPECT_THROW(Pack(Packing::kNextFit, std::vector<std::int32_t>{33}), std::invalid_argument);
  EXPECT_THROW(Pack(Packing::kNextFit, std::vector<std::int32_t>{0}), std::invalid_argument);
  EXPECT_THROW(PackingByName("WFD"), std::invalid_argument);
}

TEST(Utilisation, CountsLanesAtWork) {
  const std::vector<std::int32_t> sizes = {16, 16, 8};
  EXPECT_DOUBLE_EQ(Utilisation(Pack(Packing::kBestFitDecreasing, sizes), sizes), 40.0 / 64);
}

}  // namespace
}  // namespace retable::treeshap
