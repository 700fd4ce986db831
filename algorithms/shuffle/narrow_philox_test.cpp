#include "algorithms/shuffle/narrow_philox.hpp"

#include <gtest/gtest.h>

namespace retable::shuffle {
namespace {

template <int kRounds>
void ExpectSameValues(int bits) {
  const std::uint64_t size = std::uint64_t{1} << bits, step = size / 1000 + 1;
  const VariablePhilox plain = MakeVariablePhilox(size, 5, kRounds);
  const MendedPhilox mended{plain, 0xFEDCBA9876543210u & (size - 1)};
  const auto expect_same = [&](const auto& narrow, const auto& narrow_mended) {
    for (std::uint64_t x = 0; x < size; x += step) {
      ASSERT_EQ(narrow(static_cast<std::uint32_t>(x)), plain(x)) << bits << " bits, x = " << x;
      ASSERT_EQ(narrow_mended(static_cast<std::uint32_t>(x)), mended(x)) << bits;
    }
  };
  if (bits % 2 == 1) {
    expect_same(NarrowPhilox<kRounds, true>(plain),
                NarrowPhilox<kRounds, true>(mended.cipher, mended.add));
  } else {
    expect_same(NarrowPhilox<kRounds, false>(plain),
                NarrowPhilox<kRounds, false>(mended.cipher, mended.add));
  }
}

TEST(NarrowPhilox, IsTheCipherOfEveryWidth) {
  for (int bits = 8; bits <= 32; ++bits) {
    ExpectSameValues<1>(bits);
    ExpectSameValues<12>(bits);
    ExpectSameValues<24>(bits);
  }
}

}  // namespace
}  // namespace retable::shuffle
