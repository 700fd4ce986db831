#include "algorithms/quantiles/sum_forest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace retable::quantiles {
namespace {

std::vector<ColumnSums> Leaves(int count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<ColumnSums> leaves;
  for (int i = 0; i < count; ++i) {
    std::vector<double> values(static_cast<std::size_t>(1 + i % 7) * 10);
    for (double& x : values) x = std::exp(normal(engine)) + i;
    const SumForest one = SumChunks(std::span<const double>(values), 0, kMaxOrder);
    leaves.push_back(one.Total());
  }
  return leaves;
}

SumForest ForestOf(const std::vector<ColumnSums>& leaves, std::uint64_t begin, std::uint64_t end) {
  SumForest forest(kMaxOrder);
  for (std::uint64_t c = begin; c < end; ++c) forest.Add(c, leaves[c]);
  return forest;
}

bool SameBits(const ColumnSums& a, const ColumnSums& b) {
  return std::memcmp(&a.sums, &b.sums, sizeof a.sums) == 0 && a.digits == b.digits;
}

TEST(SumForest, AnyNumberOfRanksGivesTheSameBits) {
  for (const int chunks : {1, 2, 3, 7, 8, 9, 31, 64, 65}) {
    const std::vector<ColumnSums> leaves = Leaves(chunks, 5);
    const ColumnSums alone = ForestOf(leaves, 0, leaves.size()).Total();
    for (int ranks = 1; ranks <= 8; ++ranks) {
      std::vector<SumForest> parts;
      for (int r = 0; r < ranks; ++r) {
        const ChunkRange range = ChunksOfRank(leaves.size() * kChunk, r, ranks);
        parts.push_back(ForestOf(leaves, range.begin, range.end));
      }
      SumForest from_left(kMaxOrder);
      for (const SumForest& part : parts) from_left.Append(part);
      EXPECT_TRUE(SameBits(from_left.Total(), alone)) << chunks << " chunks, " << ranks;
      // The other extreme of brackets, and through the wire.
      SumForest from_right = parts.back();
      for (int r = ranks - 2; r >= 0; --r) {
        SumForest joint = SumForest::Unpack(parts[static_cast<std::size_t>(r)].Pack());
        joint.Append(SumForest::Unpack(from_right.Pack()));
        from_right = joint;
      }
      EXPECT_TRUE(SameBits(from_right.Total(), alone)) << chunks << " chunks, " << ranks;
    }
  }
}

TEST(SumForest, ABracketingAtRandomGivesTheSameBits) {
  const std::vector<ColumnSums> leaves = Leaves(100, 9);
  const ColumnSums alone = ForestOf(leaves, 0, 100).Total();
  std::mt19937_64 engine(2);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<SumForest> parts;
    for (std::uint64_t at = 0; at < 100;) {
      const std::uint64_t next = std::min<std::uint64_t>(100, at + engine() % 20);
      parts.push_back(ForestOf(leaves, at, next));
      at = next;
    }
    while (parts.size() > 1) {
      const std::size_t i = engine() % (parts.size() - 1);
      parts[i].Append(parts[i + 1]);
      parts.erase(parts.begin() + static_cast<long>(i) + 1);
    }
    EXPECT_TRUE(SameBits(parts.front().Total(), alone));
    EXPECT_LE(parts.front().nodes(), 7u);
  }
}

TEST(SumForest, RefusesGapsAndStrangers) {
  const std::vector<ColumnSums> leaves = Leaves(4, 1);
  SumForest forest = ForestOf(leaves, 0, 2);
  EXPECT_THROW(forest.Add(3, leaves[3]), std::invalid_argument);
  EXPECT_THROW(forest.Append(ForestOf(leaves, 0, 1)), std::invalid_argument);
  EXPECT_THROW(forest.Append(SumForest(5)), std::invalid_argument);
  EXPECT_THROW(SumForest(16), std::invalid_argument);
  EXPECT_THROW(SumForest::Unpack(std::vector<double>(3)), std::invalid_argument);
  forest.Append(SumForest(kMaxOrder));
  EXPECT_EQ(forest.Total().sums.sum[0], leaves[0].sums.sum[0] + leaves[1].sums.sum[0]);
}

TEST(SumForest, EmptyAndMissingChunksChangeNothing) {
  const std::vector<double> nan(10, std::nan(""));
  const std::vector<double> some{1, 2, 3};
  SumForest forest(kMaxOrder);
  forest.Append(SumChunks(std::span<const double>(nan), 0, kMaxOrder));
  forest.Append(SumChunks(std::span<const double>(some), 1, kMaxOrder));
  EXPECT_EQ(forest.Total().sums.sum[0], 3);
  EXPECT_EQ(forest.Total().sums.max, 3);
  EXPECT_EQ(SumForest(3).Total().sums.sum[0], 0);
}

}  // namespace
}  // namespace retable::quantiles
