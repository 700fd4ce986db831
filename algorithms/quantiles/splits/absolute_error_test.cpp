#include "algorithms/quantiles/splits/absolute_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace retable::quantiles {
namespace {

struct Data {
  std::vector<double> x, y;
};

//! A step at 0.3 under noise of a long tail.
Data Step(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform;
  std::student_t_distribution<double> noise(3);
  Data data;
  for (std::size_t i = 0; i < n; ++i) {
    data.x.push_back(uniform(engine));
    data.y.push_back((data.x.back() <= 0.3 ? 0 : 4) + noise(engine));
  }
  return data;
}

TEST(AbsoluteSplit, ImpuritiesAreCloseToExact) {
  const Data data = Step(4000, 1);
  const auto sketched = SplitsBySketch(data.x, data.y, 32, kMaxOrder, CpuDualSolver(1));
  const auto exact = SplitsExactly(data.x, data.y, 32);
  ASSERT_EQ(sketched.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(sketched[i].threshold, exact[i].threshold);
    EXPECT_NEAR(sketched[i].impurity, exact[i].impurity, 0.03 * exact[i].impurity);
  }
  EXPECT_NEAR(BestSplit(sketched).threshold, 0.3, 0.04);
  const double loss =
      AbsoluteImpurity(data.x, data.y, BestSplit(sketched).threshold) / BestSplit(exact).impurity;
  EXPECT_LT(loss, 1.01);
}

TEST(AbsoluteSplit, IsExactOnFewLabels) {
  Data data;
  for (int i = 0; i < 300; ++i) {
    data.x.push_back(i % 100);
    data.y.push_back(i % 100 < 40 ? i % 3 : 5 + i % 2);
  }
  const auto sketched = SplitsBySketch(data.x, data.y, 10, kMaxOrder, CpuDualSolver(1));
  const auto exact = SplitsExactly(data.x, data.y, 10);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(sketched[i].impurity, exact[i].impurity, 0.02 * exact[i].impurity + 2) << i;
  }
  EXPECT_EQ(BestSplit(sketched).threshold, BestSplit(exact).threshold);
}

TEST(AbsoluteSplit, RefusesWhatItCannotSplit) {
  const std::vector<double> one{1};
  const std::vector<double> same{2, 2, 2};
  const std::vector<double> bad{1, 2, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> good{1, 2, 3};
  const DualSolver solve = CpuDualSolver(1);
  EXPECT_THROW(SplitsBySketch(one, one, 4, 5, solve), std::invalid_argument);
  EXPECT_THROW(SplitsBySketch(good, one, 4, 5, solve), std::invalid_argument);
  EXPECT_THROW(SplitsBySketch(good, bad, 4, 5, solve), std::invalid_argument);
  EXPECT_THROW(SplitsBySketch(good, good, 1, 5, solve), std::invalid_argument);
  EXPECT_TRUE(SplitsBySketch(same, good, 4, 5, solve).empty());
  EXPECT_THROW(BestSplit({}), std::invalid_argument);
  EXPECT_TRUE(std::isinf(AbsoluteImpurity(good, good, 3)));
  EXPECT_DOUBLE_EQ(AbsoluteImpurity(good, good, 1), 1);
}

}  // namespace
}  // namespace retable::quantiles
