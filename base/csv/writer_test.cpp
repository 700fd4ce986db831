#include "base/csv/writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace retable {
namespace {

TEST(CsvWriter, QuotesWhatNeedsIt) {
  for (const char* plain : {"", "a", "a b", " a", "ü", "a#", "1.5"}) {
    EXPECT_EQ(CsvField(plain), plain);
  }
  EXPECT_EQ(CsvField("x,1"), "\"x,1\"");
  EXPECT_EQ(CsvField("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(CsvField("a\nb"), "\"a\nb\"");
  EXPECT_EQ(CsvField("a\r"), "\"a\r\"");
  EXPECT_EQ(CsvField("#a"), "\"#a\"");
  EXPECT_EQ(CsvField(" "), "\" \"");
}

TEST(CsvWriter, Rows) {
  std::ostringstream out;
  CsvWriter writer(out);
  writer.Row({"text", "number"});
  writer.Field("n").Field(std::int64_t{-7}).EndRow();
  writer.Field("x,1").Field(0.25).EndRow();
  writer.Field("nan").Field(std::nan("")).EndRow();
  EXPECT_EQ(out.str(), "text,number\nn,-7\n\"x,1\",0.25\nnan,\n");
}

TEST(CsvWriter, OneEmptyColumnKeepsItsRows) {
  std::ostringstream out;
  CsvWriter writer(out);
  writer.Row({"only"});
  writer.Row({""});
  writer.Row({"x"});
  EXPECT_EQ(out.str(), "only\n\"\"\nx\n");
}

}  // namespace
}  // namespace retable
