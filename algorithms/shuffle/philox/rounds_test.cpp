#include "algorithms/shuffle/philox/rounds.hpp"

#include <gtest/gtest.h>

#include <random>

namespace retable::shuffle {
namespace {

TEST(PhiloxRounds, GivesTheBlocksOfPhilox) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 1000; ++round) {
    const Philox4x32 plain = Philox4x32::FromSeed(random());
    const PhiloxRounds rounds = PhiloxRounds::From(plain);
    const std::uint64_t index = random() >> random() % 64, stream = random() >> random() % 64;
    const PhiloxBlock expected = plain.Block(index, stream), got = rounds.Block(index, stream);
    for (int w = 0; w < 4; ++w) EXPECT_EQ(got.word[w], expected.word[w]);
  }
}

}  // namespace
}  // namespace retable::shuffle
