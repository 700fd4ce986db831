#include "datasets/frame/frame.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace retable::datasets {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

Frame OneColumn(const std::vector<double>& values, ColumnKind kind = ColumnKind::kNumeric) {
  FrameBuilder builder({{"x", kind, {}}}, {ColumnRole::kFeature});
  for (const double v : values) {
    *builder.Row() = v;
    builder.CommitRow();
  }
  return builder.Finish();
}

TEST(FrameBuilder, GivesCodesWhereNothingIsLost) {
  const Frame bytes = OneColumn({0, 255, 17});
  EXPECT_EQ(bytes.columns[0].codes8.size(), 3u);
  EXPECT_EQ(bytes.columns[0].codes8[1], 255);
  EXPECT_EQ(bytes.columns[0].values[1], 255.0f);
  const Frame shorts = OneColumn({0, 256, 65535});
  EXPECT_TRUE(shorts.columns[0].codes8.empty());
  EXPECT_EQ(shorts.columns[0].codes16[2], 65535);
  for (const auto& values : std::vector<std::vector<double>>{
           {0, -1}, {0, 0.5}, {65536}, {0, kNan}, {1, std::numeric_limits<double>::infinity()}}) {
    const Frame other = OneColumn(values);
    EXPECT_TRUE(other.columns[0].codes8.empty());
    EXPECT_TRUE(other.columns[0].codes16.empty());
    EXPECT_EQ(other.columns[0].values.size(), values.size());
  }
}

TEST(FrameBuilder, CountsMissingAndKeepsThemAsNan) {
  const Frame frame = OneColumn({1, kNan, 3, kNan});
  EXPECT_EQ(frame.columns[0].missing, 2);
  EXPECT_TRUE(std::isnan(frame.columns[0].values[1]));
  EXPECT_EQ(frame.columns[0].values[2], 3.0f);
}

TEST(FrameBuilder, KeepsWholeNumbersThatFloat32Loses) {
  const Frame stamps = OneColumn({1600000001.0, 5.0, kNan});
  ASSERT_EQ(stamps.columns[0].wide.size(), 3u);
  EXPECT_EQ(stamps.columns[0].At(0), 1600000001.0);
  EXPECT_EQ(stamps.columns[0].At(1), 5.0);
  EXPECT_EQ(stamps.columns[0].missing, 1);
  // A fraction makes it a measurement: float32, as in the papers.
  const Frame decimals = OneColumn({1600000001.0, 5.5});
  EXPECT_TRUE(decimals.columns[0].wide.empty());
  EXPECT_EQ(decimals.columns[0].values[1], 5.5f);
  EXPECT_EQ(OneColumn({1.5}, ColumnKind::kDate).columns[0].At(0), 1.5);
}

TEST(FrameBuilder, BeyondFloat32IsInfiniteButNotLost) {
  const Frame frame = OneColumn({1e300, -1e300});
  EXPECT_EQ(frame.columns[0].values[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(frame.columns[0].values[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(frame.columns[0].At(0), 1e300);
}

TEST(FrameBuilder, EmptyFrameHasColumnsWithoutValues) {
  const Frame frame = OneColumn({});
  EXPECT_EQ(frame.rows, 0);
  ASSERT_EQ(frame.columns.size(), 1u);
  EXPECT_TRUE(frame.columns[0].values.empty());
}

TEST(FrameBuilder, MatchesAPlainTransposeOnRandomTables) {
  std::mt19937_64 random(1);
  for (const std::size_t width : {1u, 3u, 70u, 9000u}) {
    std::vector<ColumnInfo> infos(width);
    std::vector<ColumnRole> roles(width, ColumnRole::kFeature);
    for (std::size_t c = 0; c < width; ++c) infos[c].name = "c" + std::to_string(c);
    if (width > 1) roles[0] = ColumnRole::kTarget;
    if (width > 2) roles[1] = ColumnRole::kIgnored;
    FrameBuilder builder(infos, roles);
    const std::size_t rows = 3000 / width + 3;
    std::vector<double> table(rows * width);
    for (std::size_t i = 0; i < table.size(); ++i) {
      // Column by column another range, with surprises late in the column.
      const std::size_t c = i % width;
      table[i] = static_cast<double>(random() % (c % 2 ? 200 : 70000));
      if (random() % 97 == 0) table[i] = random() % 2 ? kNan : 0.25;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::copy_n(&table[r * width], width, builder.Row());
      builder.CommitRow();
    }
    const Frame frame = builder.Finish();
    ASSERT_EQ(frame.rows, static_cast<std::int64_t>(rows));
    const std::size_t dropped = width > 2 ? 2 : width > 1 ? 1 : 0;
    ASSERT_EQ(frame.columns.size(), width - dropped);
    for (std::size_t c = 0; c < frame.columns.size(); ++c) {
      const Column& column = frame.columns[c];
      for (std::size_t r = 0; r < rows; ++r) {
        const double want = table[r * width + c + dropped];
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(column.values[r]));
        } else {
          ASSERT_EQ(column.values[r], static_cast<float>(want));
        }
        if (!column.codes8.empty()) {
          ASSERT_EQ(column.codes8[r], want);
        }
        if (!column.codes16.empty()) {
          ASSERT_EQ(column.codes16[r], want);
        }
      }
    }
    const auto matrix = frame.RowMajor();
    for (std::size_t i = 0; i < matrix.size(); i += 7) {
      const float want = frame.columns[i % frame.columns.size()].values[i / frame.columns.size()];
      ASSERT_TRUE(matrix[i] == want || std::isnan(want));
    }
  }
}

TEST(Frame, CopiesShareTheirStorage) {
  Frame copy;
  {
    const Frame frame = OneColumn({1, 2, 3});
    copy = frame;
    EXPECT_EQ(copy.columns[0].values.data(), frame.columns[0].values.data());
  }
  EXPECT_EQ(copy.columns[0].values[2], 3.0f);
}

}  // namespace
}  // namespace retable::datasets
