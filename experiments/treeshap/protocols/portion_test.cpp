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

TEST(Portion, ASlowMethodTakesTheFirstRowsAFastOneAll) {
  std::vector<std::size_t> tried;
  const auto at = [&](double seconds_a_row) {
    tried.clear();
    return [&, seconds_a_row](std::size_t rows) {
      tried.push_back(rows);
      return seconds_a_row * static_cast<double>(rows);
    };
  };
  Portion portion = Affordable(10000, 500, 1.0, at(1.0));
  EXPECT_EQ(portion.rows, 500u);
  EXPECT_EQ(portion.seconds, 500.0);
  EXPECT_EQ(tried, (std::vector<std::size_t>{500}));
  portion = Affordable(10000, 500, 1.0, at(1e-3));
  EXPECT_EQ(portion.rows, 1000u);
  EXPECT_DOUBLE_EQ(portion.seconds, 1.0);
  portion = Affordable(10000, 500, 1.4, at(1e-3));  // 1,400 rows would do
  EXPECT_EQ(portion.rows, 1000u);
  EXPECT_DOUBLE_EQ(portion.seconds, 1.0);
  EXPECT_EQ(Affordable(200, 16, 0.44, at(0.01)).rows, 32u);  // 44 rows are no whole rounds
  portion = Affordable(10000, 500, 1.0, at(1e-6));
  EXPECT_EQ(portion.rows, 10000u);
  EXPECT_EQ(tried, (std::vector<std::size_t>{500, 2000, 8000, 10000}));
  EXPECT_EQ(Affordable(3, 500, 1.0, at(1.0)).rows, 3u);
}

}  // namespace
}  // namespace retable::experiments::treeshap
