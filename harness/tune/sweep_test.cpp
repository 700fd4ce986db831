#include "harness/tune/sweep.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace retable::harness {
namespace {

constexpr TunedConstant kItems{"test/items", 64, {16, 32, 128, 256}, "items a thread moves"};

class Sweeping : public testing::Test {
 protected:
  void TearDown() override { ClearTuned(); }

  // A card on which a value costs this, after so many calls for each of the five values.
  static TuneTask Card(std::map<std::uint64_t, double> costs, double drift = 0) {
    return {kItems, [costs = std::move(costs), drift, calls = 0]() mutable {
              return costs.at(Tuned(kItems)) * (1 + drift * calls++);
            }};
  }
};

TEST_F(Sweeping, TheBestValueIsTakenAndPutInForce) {
  const Choice choice = Sweep(Card({{16, 3}, {32, 2}, {64, 1}, {128, 0.7}, {256, 0.8}}), {});
  EXPECT_EQ(choice.standard, 64u);
  EXPECT_EQ(choice.chosen, 128u);
  EXPECT_DOUBLE_EQ(choice.before, 1);
  EXPECT_DOUBLE_EQ(choice.after, 0.7);
  EXPECT_EQ(Tuned(kItems), 128u);
}

TEST_F(Sweeping, ASmallGainChangesNothing) {
  const Choice choice = Sweep(Card({{16, 3}, {32, 2}, {64, 1}, {128, 0.98}, {256, 0.99}}), {});
  EXPECT_EQ(choice.chosen, 64u);
  EXPECT_EQ(Tuned(kItems), 64u);
}

TEST_F(Sweeping, DriftMakesNoValueTheBest) {
  const std::map<std::uint64_t, double> same{{16, 1}, {32, 1}, {64, 1}, {128, 1}, {256, 1}};
  EXPECT_EQ(Sweep(Card(same, 0.01), {}).chosen, 64u);    // a card that grows hot
  EXPECT_EQ(Sweep(Card(same, -0.005), {}).chosen, 64u);  // one that has just been woken
}

TEST_F(Sweeping, EndsInTimeAndRefusesWhatIsNoTime) {
  EXPECT_EQ(Sweep(Card({{16, 1}, {32, 1}, {64, 1}, {128, 1}, {256, 1}}), {.seconds = 0}).rounds, 3);
  EXPECT_THROW(Sweep({kItems, [] { return 0.0; }}, {}), std::runtime_error);
}

}  // namespace
}  // namespace retable::harness
