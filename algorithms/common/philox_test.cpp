#include "algorithms/common/philox.hpp"

#include <gtest/gtest.h>

#include <array>

#include "algorithms/common/bulk_random.hpp"
#include "base/simd_target.hpp"

namespace retable {
namespace {

std::array<std::uint32_t, 4> Words(const PhiloxBlock& b) {
  return {b.word[0], b.word[1], b.word[2], b.word[3]};
}

// The three known answers of philox4x32-10 in Random123's kat_vectors.
TEST(Philox, MatchesTheKnownAnswers) {
  const std::uint32_t f = 0xffffffffu;
  EXPECT_EQ(Words(Philox4x32{{0, 0}}(0, 0, 0, 0)),
            (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Words(Philox4x32{{f, f}}(f, f, f, f)),
            (std::array<std::uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(Words(Philox4x32{{0xa4093822u, 0x299f31d0u}}(0x243f6a88u, 0x85a308d3u, 0x13198a2eu,
                                                         0x03707344u)),
            (std::array<std::uint32_t, 4>{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, BlockIsTheCounterLowWordFirst) {
  const auto g = Philox4x32::FromSeed(0x0123456789abcdefull);
  EXPECT_EQ(g.key[0], 0x89abcdefu);
  EXPECT_EQ(g.key[1], 0x01234567u);
  EXPECT_EQ(Words(g.Block(0x1122334455667788ull, 0x99aabbccddeeff00ull)),
            Words(g(0x55667788u, 0x11223344u, 0xddeeff00u, 0x99aabbccu)));
  const PhiloxBlock b = {{1, 2, 3, 4}};
  EXPECT_EQ(b.half(0), 0x0000000200000001ull);
  EXPECT_EQ(b.half(1), 0x0000000400000003ull);
}

template <int kCount>
void ExpectBulkBlocks() {
  const auto g = Philox4x32::FromSeed(0xfedcba9876543210ull);
  const std::uint64_t first = 0x500000020ull, stream = 0x0123456789abcdefull;
  for (const int widest : {128, 256, 512}) {
    widest_vectors = widest;
    std::uint32_t words[4 * kCount];
    FillBlocks<kCount>(g, first, stream, words);
    for (std::uint32_t l = 0; l < kCount; ++l) {
      const std::array<std::uint32_t, 4> found = {words[l], words[kCount + l],
                                                  words[2 * kCount + l], words[3 * kCount + l]};
      EXPECT_EQ(found, Words(g.Block(first + l, stream))) << widest;
    }
  }
  widest_vectors = 512;
}

TEST(Philox, BlocksInBulkAreTheSame) {
  ExpectBulkBlocks<8>();
  ExpectBulkBlocks<32>();
}

TEST(Philox, UniformsStayInTheirIntervals) {
  EXPECT_EQ(UniformDouble(0), 0.0);
  EXPECT_LT(UniformDouble(~0ull), 1.0);
  EXPECT_GT(UniformDoubleOpenBelow(0), 0.0);
  EXPECT_EQ(UniformDoubleOpenBelow(~0ull), 1.0);
}

TEST(Philox, MultiplyHighMatchesWideArithmetic) {
  __extension__ using Wide = unsigned __int128;
  const auto g = Philox4x32::FromSeed(7);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto b = g.Block(i);
    EXPECT_EQ(MultiplyHigh64(b.half(0), b.half(1)),
              static_cast<std::uint64_t>((static_cast<Wide>(b.half(0)) * b.half(1)) >> 64));
  }
  EXPECT_EQ(MultiplyHigh64(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(UniformBelow(~0ull, 10), 9u);
  EXPECT_EQ(UniformBelow(0, 10), 0u);
  EXPECT_EQ(UniformBelow(~0ull, 1), 0u);
}

TEST(Philox, MomentsOfTheUniformAreRight) {
  const auto g = Philox4x32::FromSeed(42);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = UniformDouble(g.Block(static_cast<std::uint64_t>(i)).half(0));
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * 0.2887 / 316.0);
  EXPECT_NEAR(squares / n, 1.0 / 3.0, 5 * 0.2981 / 316.0);
}

}  // namespace
}  // namespace retable
