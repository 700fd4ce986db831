#include "datasets/frame/encode.hpp"

#include <gtest/gtest.h>

#include "datasets/arff/parser.hpp"

namespace retable::datasets {
namespace {

Frame Sample() {
  ArffOptions options;
  options.roles = LastIsTarget;
  return ParseArff(
      "@relation r\n@attribute n real\n@attribute sex {F,M}\n@attribute work {a,b,c}\n"
      "@attribute y {no,yes}\n@data\n1.5,F,a,no\n2,M,?,yes\n?,F,c,no\n",
      options);
}

TEST(OneHot, MissingIsALevelAndBinaryIsOneColumn) {
  const Frame f = OneHot(Sample());
  ASSERT_EQ(f.columns.size(), 6u);
  EXPECT_EQ(f.columns[1].name, "sex=M");
  EXPECT_EQ(f.columns[2].name, "work=a");
  EXPECT_EQ(f.columns[5].name, "work=missing");
  const float want[3][5] = {{0, 1, 0, 0, 0}, {1, 0, 0, 0, 1}, {0, 0, 0, 1, 0}};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(f.columns[c + 1].values[r], want[r][c]);
  }
  EXPECT_EQ(f.columns[0].values[0], 1.5f);
  EXPECT_EQ(f.columns[0].missing, 1);
  EXPECT_EQ(f.target->values[1], 1.0f);
  EXPECT_EQ(f.target->levels[1], "yes");
}

// The first row as fetch_california_housing shows it.
TEST(CaliforniaHousing, MatchesTheKnownFirstRow) {
  ArffOptions options;
  options.roles = LastIsTarget;
  const Frame houses = ParseArff(
      "@relation houses\n@attribute longitude real\n@attribute latitude real\n"
      "@attribute housing_median_age real\n@attribute total_rooms real\n"
      "@attribute total_bedrooms real\n@attribute population real\n@attribute households real\n"
      "@attribute median_income real\n@attribute median_house_value real\n@data\n"
      "-122.23,37.88,41,880,129,322,126,8.3252,452600\n",
      options);
  const Frame f = CaliforniaHousing(houses);
  const float want[] = {8.3252f, 41.0f,       6.98412698f, 1.02380952f,
                        322.0f,  2.55555556f, 37.88f,      -122.23f};
  ASSERT_EQ(f.columns.size(), 8u);
  for (std::size_t c = 0; c < 8; ++c) EXPECT_FLOAT_EQ(f.columns[c].values[0], want[c]) << c;
  EXPECT_FLOAT_EQ(f.target->values[0], 4.526f);
  EXPECT_THROW(CaliforniaHousing(Sample()), std::invalid_argument);
}

}  // namespace
}  // namespace retable::datasets
