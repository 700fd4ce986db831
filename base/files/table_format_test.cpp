#include "base/files/table_format.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace retable {
namespace {

TEST(TableFormat, GoesByTheEnding) {
  EXPECT_EQ(FormatOf("a.b/x.csv"), TableFormat::kCsv);
  EXPECT_EQ(FormatOf("X.ARFF"), TableFormat::kArff);
  EXPECT_EQ(FormatOf("x.npy"), TableFormat::kNpy);
  for (const char* other : {"iris", "x.csv.gz", "x.npz", "x.", "csv", ""}) {
    EXPECT_EQ(FormatOf(other), TableFormat::kOther) << other;
  }
}

std::string SaidOf(const std::string& path) {
  try {
    RefuseFormat(path);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(TableFormat, SaysHowToConvert) {
  EXPECT_EQ(SaidOf("d/x.parquet"),
            "d/x.parquet is neither .csv, .arff nor .npy; convert it: python3 -c \"import pandas; "
            "pandas.read_parquet('d/x.parquet').to_csv('d/x.csv', index=False)\"");
  EXPECT_NE(SaidOf("x.feather").find("read_feather"), std::string::npos);
  EXPECT_NE(SaidOf("x.npz").find("numpy.load('x.npz')"), std::string::npos);
  EXPECT_EQ(SaidOf("x.txt"), "x.txt is neither .csv, .arff nor .npy");
}

}  // namespace
}  // namespace retable
