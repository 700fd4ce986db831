#include "algorithms/shuffle/selection/sample.hpp"

#include <gtest/gtest.h>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

TEST(Sample, IsThePermutationsBeginning) {
  const auto whitened = Registry<Shuffler>::Instance().Make("VarPhilox-mended", Device::kCpu, {});
  for (const std::uint64_t n : {1, 2, 5, 255, 256, 257, 10000}) {
    const auto order = whitened->permutation(n, 9);
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

TEST(Sample, RowsAreThoseOfTheSample) {
  for (const std::size_t row_bytes : {1, 4, 10, 24, 100}) {
    const std::uint64_t n = 300, k = 70;
    std::vector<std::uint8_t> in(n * row_bytes), out(k * row_bytes + 1, 7);
    for (std::size_t b = 0; b < in.size(); ++b) {
      in[b] = static_cast<std::uint8_t>((b * 2654435761u) >> 9);
    }
    SampleRows(in.data(), out.data(), n, k, row_bytes, 5);
    const auto sample = SampleWithoutReplacement(n, k, 5);
    for (std::uint64_t j = 0; j < k * row_bytes; ++j) {
      ASSERT_EQ(out[j], in[sample[j / row_bytes] * row_bytes + j % row_bytes]) << row_bytes;
    }
    EXPECT_EQ(out.back(), 7);
  }
  EXPECT_NO_THROW(SampleRows(nullptr, nullptr, 0, 0, 8, 1));
  EXPECT_THROW(SampleRows(nullptr, nullptr, 5, 2, 8, 1), std::invalid_argument);
  EXPECT_THROW(SampleRows(nullptr, nullptr, 5, 2, 0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle
