#include "base/oracle_testing.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace retable {
namespace {

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  std::vector<int> items(100);
  for (int i = 0; i < 100; ++i) items[static_cast<std::size_t>(i)] = i;
  const auto needs_17_and_80 = [](const std::vector<int>& kept) {
    return std::count(kept.begin(), kept.end(), 17) + std::count(kept.begin(), kept.end(), 80) == 2;
  };
  EXPECT_EQ(Shrink(items, needs_17_and_80), (std::vector<int>{17, 80}));
  EXPECT_EQ(Shrink(items, [](const std::vector<int>&) { return true; }), std::vector<int>{});
}

// Not named Oracle*: `make oracle` gives those its own length.
TEST(ClockOfOracles, GrantsOneCaseAndEnds) {
  OracleClock clock(0);
  EXPECT_TRUE(clock.more());
  EXPECT_FALSE(clock.more());
}

}  // namespace
}  // namespace retable
