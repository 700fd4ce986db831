#include "base/bit_count.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace retable {
namespace {

TEST(BitCount, CountsEveryDifferingBit) {
  std::vector<std::uint64_t> a(77), b(77);  // no multiple of any vector
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = 0x9e3779b97f4a7c15u * (i + 1);
    b[i] = i % 5 == 0 ? ~a[i] : a[i] >> (i % 64);
    expected += std::popcount(a[i] ^ b[i]);
    EXPECT_EQ(BestBitCounter().count(a.data(), b.data(), i), expected - std::popcount(a[i] ^ b[i]));
  }
  EXPECT_EQ(BestBitCounter().count(a.data(), b.data(), a.size()), expected);
}

}  // namespace
}  // namespace retable
