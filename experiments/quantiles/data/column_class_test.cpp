#include "experiments/quantiles/data/column_class.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace retable::experiments {
namespace {

std::string ClassOf(const std::vector<double>& ascending) {
  return ColumnClass(ShapeOf(ascending));
}

TEST(ColumnClass, CountsDistinctValuesAndTheLongestRun) {
  const std::vector<double> v = {1, 1, 2, 3, 3, 3, 4};
  const ColumnShape shape = ShapeOf(v);
  EXPECT_EQ(shape.distinct, 4u);
  EXPECT_DOUBLE_EQ(shape.largest_fraction, 3.0 / 7);
  EXPECT_EQ(ShapeOf(std::vector<double>{}).distinct, 0u);
  EXPECT_DOUBLE_EQ(ShapeOf(std::vector<double>{5}).largest_fraction, 1.0);
}

TEST(ColumnClass, NamesTheFourKinds) {
  EXPECT_EQ(ClassOf({7, 7, 7}), "constant");
  EXPECT_EQ(ClassOf({1, 2, 3, 4, 5, 6, 7, 8}), "few values");
  std::vector<double> ramp(100);
  std::iota(ramp.begin(), ramp.end(), 0.0);
  EXPECT_EQ(ClassOf(ramp), "continuous");
  std::vector<double> zeros(30, -1.0);
  zeros.insert(zeros.end(), ramp.begin(), ramp.end());
  EXPECT_EQ(ClassOf(zeros), "point mass");
}

}  // namespace
}  // namespace retable::experiments
