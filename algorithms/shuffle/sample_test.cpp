#include "algorithms/shuffle/sample.hpp"

#include <gtest/gtest.h>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

TEST(Sample, IsThePermutationsBeginning) {
  const auto mended = Registry<Shuffler>::Instance().Make("VarPhilox-mended", Device::kCpu, {});
  for (const std::uint64_t n : {1, 2, 5, 255, 256, 257, 10000}) {
    const auto order = mended->permutation(n, 9);
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n}) {
      EXPECT_EQ(SampleWithoutReplacement(n, k, 9),
                std::vector<std::uint64_t>(order.begin(),
                                           order.begin() + static_cast<std::ptrdiff_t>(k)));
    }
  }
  EXPECT_TRUE(SampleWithoutReplacement(0, 0, 1).empty());
  EXPECT_THROW(SampleWithoutReplacement(3, 4, 1), std::invalid_argument);
}

TEST(Sample, TakesFewOfManyQuickly) {
  const auto sample = SampleWithoutReplacement(std::uint64_t{1} << 33, 1000, 4);
  EXPECT_EQ(sample.size(), 1000u);
  for (const std::uint64_t value : sample) EXPECT_LT(value, std::uint64_t{1} << 33);
}

}  // namespace
}  // namespace retable::shuffle
