// Matrices from sums of interactions, against the layout written out.

#include "algorithms/treeshap/interactions/matrices.hpp"

#include <gtest/gtest.h>

#include <random>

namespace retable::treeshap {
namespace {

std::vector<InteractionSum> SomeInteractions(std::uint32_t features, std::uint32_t outputs,
                                             std::mt19937& random) {
  std::vector<InteractionSum> names;
  for (std::uint32_t g = 0; g < outputs; ++g) {
    if (g == 1) continue;  // an output without splits
    for (std::uint32_t high = 0; high < features; ++high) {
      for (std::uint32_t low = 0; low <= high; ++low) {
        if (random() % 3 == 0) names.push_back({g, high, low});
      }
    }
  }
  return names;
}

TEST(InteractionMatrices, MatricesAreSymmetricAndSumToTheValues) {
  std::mt19937 random(1);
  for (const std::uint32_t features : {1u, 7u, 40u, 300u}) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{8}, std::size_t{21}}) {
      const std::uint32_t outputs = 3;
      const std::size_t stride = (rows + 31) / 32 * 32;
      const std::vector<InteractionSum> names = SomeInteractions(features, outputs, random);
      std::vector<std::uint64_t> sums(names.size() * stride);
      for (auto& sum : sums) sum = static_cast<std::uint64_t>(static_cast<int>(random() % 64) - 32);
      const std::size_t side = features + 1;
      std::vector<double> want(rows * outputs * side * side, 0.0);
      const std::vector<double> expected = {0.5, 1.5, 2.5};
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t n = 0; n < names.size(); ++n) {
          const double value =
              static_cast<double>(static_cast<std::int64_t>(sums[n * stride + r])) / 16;
          double* matrix = want.data() + (r * outputs + names[n].group) * side * side;
          const std::size_t high = names[n].high;
          const std::size_t low = names[n].low;
          if (high != low) {
            matrix[high * side + low] += value / 2;
            matrix[low * side + high] += value / 2;
            matrix[low * side + low] -= value / 2;
          }
          matrix[high * side + high] += high == low ? value : -value / 2;
        }
        for (std::size_t g = 0; g < outputs; ++g) {
          want[(r * outputs + g + 1) * side * side - 1] = expected[g];
        }
      }
      std::vector<double> got(want.size(), 7.0);
      InteractionMatrices(names, features, outputs)
          .Write({sums.data(), rows, stride, 16}, expected, got);
      EXPECT_EQ(got, want) << features << " features, " << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace retable::treeshap
