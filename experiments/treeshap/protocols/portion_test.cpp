#include "experiments/treeshap/protocols/portion.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace retable::experiments::treeshap {
namespace {

TEST(Portion, NoTimeIsScaledFromLessThanATwentiethOrAThousandRows) {
  EXPECT_EQ(LeastRows(1), 1u);
  EXPECT_EQ(LeastRows(200), 10u);
  EXPECT_EQ(LeastRows(201), 11u);
  EXPECT_EQ(LeastRows(10000), 500u);
  EXPECT_EQ(LeastRows(20000), 1000u);
  EXPECT_EQ(LeastRows(1000000), 1000u);
}

TEST(Portion, RoundsOfTheThreadsAreWhole) {
  EXPECT_EQ(WholeRounds(10, 16), 16u);
  EXPECT_EQ(WholeRounds(16, 16), 16u);
  EXPECT_EQ(WholeRounds(500, 16), 512u);
  EXPECT_EQ(WholeRounds(500, 1), 500u);
}

// A method of so many seconds a call and a row; the rows that were tried.
struct Timed {
  double call, row;
  std::vector<std::size_t> tried = {};
  Portion Of(std::size_t rows, std::size_t first, double budget) {
    return Affordable(rows, first, budget, [&](std::size_t count) {
      tried.push_back(count);
      return call + row * static_cast<double>(count);
    });
  }
};

TEST(Portion, ASlowMethodTakesTheFirstRowsAFastOneAll) {
  Timed slow{0, 1.0};
  Portion portion = slow.Of(10000, 500, 1.0);
  EXPECT_EQ(portion.rows, 500u);
  EXPECT_EQ(portion.seconds, 500.0);
  EXPECT_EQ(slow.tried, (std::vector<std::size_t>{500}));
  for (const double budget : {1.0, 1.4}) {  // 1,400 rows would do
    portion = Timed{0, 1e-3}.Of(10000, 500, budget);
    EXPECT_EQ(portion.rows, 1000u);
    EXPECT_DOUBLE_EQ(portion.seconds, 1.0);
  }
  EXPECT_EQ((Timed{0, 0.01}.Of(200, 16, 0.44).rows), 32u);  // 44 rows are no whole rounds
  Timed fast{0, 1e-6};
  EXPECT_EQ(fast.Of(10000, 500, 1.0).rows, 10000u);
  EXPECT_EQ(fast.tried, (std::vector<std::size_t>{500, 2000, 8000, 10000}));
  EXPECT_EQ((Timed{0, 1.0}.Of(3, 500, 1.0).rows), 3u);
}

TEST(Portion, AFixedCostIsNotScaled) {
  Timed method{1.0, 1e-4};
  const Portion portion = method.Of(1000000, 1000, 1.67);
  EXPECT_EQ(method.tried, (std::vector<std::size_t>{1000, 4000, 16000, 64000, 256000}));
  EXPECT_EQ(portion.rows, 256000u);
  const double scaled = portion.seconds * 1e6 / static_cast<double>(portion.rows);
  EXPECT_NEAR(scaled, 101, 4);
  Timed slower{100.0, 1e-4};  // not worth more than the budget
  EXPECT_EQ(slower.Of(1000000, 1000, 1.67).rows, 1000u);
  EXPECT_EQ(slower.tried.size(), 1u);
}

}  // namespace
}  // namespace retable::experiments::treeshap
