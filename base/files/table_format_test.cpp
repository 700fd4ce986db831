#include "base/files/table_format.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/files/output_paths.hpp"

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

TEST(TableFormat, ResultsAreArraysOrCsv) {
  EXPECT_TRUE(IsArrayOutput("a.csv/x.NPY"));
  for (const char* csv : {"", "x", "/dev/stdout", "x.npy/y", "x.CSV"}) {
    EXPECT_FALSE(IsArrayOutput(csv)) << csv;
  }
  for (const char* other : {"x.parquet", "x.arff", "x.csv.gz", "x.txt", "x.npz", "x."}) {
    EXPECT_THROW(IsArrayOutput(other), OutputRefused) << other;
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
