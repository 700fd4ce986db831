#include "harness/report/csv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

namespace retable::harness {
namespace {

std::string ErrorOf(std::string_view text) {
  try {
    ParseCsv(text, "t.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Csv, ReadsPlainAndQuoted) {
  const CsvTable table = ParseCsv("a,b\n1,\"x, \"\"y\"\"\nz\"\n,\n", "t.csv");
  EXPECT_EQ(table.header, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].fields, (std::vector<std::string>{"1", "x, \"y\"\nz"}));
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].fields, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(table.rows[1].line, 4);  // the quoted field spans two lines
}

TEST(Csv, CrlfMarkCommentsAndMissingLastLineEnd) {
  const CsvTable table =
      ParseCsv("\xEF\xBB\xBF# from page 3\r\na,b\r\n\r\n# more\n1,2\r\n3,4", "t.csv");
  EXPECT_EQ(table.header, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1].fields, (std::vector<std::string>{"3", "4"}));
  EXPECT_EQ(table.rows[1].line, 6);
}

TEST(Csv, ErrorsNameFileAndLine) {
  EXPECT_EQ(ErrorOf(""), "t.csv:1: empty: a header line is needed");
  EXPECT_EQ(ErrorOf("# nothing\n"), "t.csv:1: empty: a header line is needed");
  EXPECT_EQ(ErrorOf("a,b\n1\n"), "t.csv:2: 1 fields where the header has 2");
  EXPECT_EQ(ErrorOf("a,b\n1,2,3\n"), "t.csv:2: 3 fields where the header has 2");
  EXPECT_EQ(ErrorOf("a,a\n"), "t.csv:1: column \"a\" occurs twice; does this line hold the names?");
  EXPECT_EQ(ErrorOf("a\n\"x\ny\n"), "t.csv:2: a quoted field is never closed");
  EXPECT_EQ(ErrorOf("a\n\"x\"y\n"), "t.csv:2: field 1: text after the closing quote");
  EXPECT_EQ(ErrorOf("a\nx\"y\n"),
            "t.csv:2: field 1: a quote inside a field that does not begin with one");
  EXPECT_THROW(ReadCsv("/nowhere.csv"), CsvError);
  EXPECT_THROW(ReadCsv(testing::TempDir()), CsvError);
}

TEST(Csv, ColumnsByName) {
  const CsvTable table = ParseCsv("row,value\nx,1.5\ny,\nz,one\n", "t.csv");
  EXPECT_EQ(ParseCsv("# a\n\na,b\n", "t.csv").header_line, 3);
  EXPECT_EQ(table.Column("value"), 1u);
  EXPECT_TRUE(table.Has("row"));
  EXPECT_FALSE(table.Has("rows"));
  EXPECT_EQ(table.Number(table.rows[0], 1), 1.5);
  EXPECT_FALSE(table.Number(table.rows[1], 1));
  try {
    table.Number(table.rows[2], 1);
    FAIL() << "no exception";
  } catch (const CsvError& error) {
    EXPECT_STREQ(error.what(), "t.csv:4: column \"value\": \"one\" is no number");
  }
  try {
    table.Column("valeu");
    FAIL() << "no exception";
  } catch (const CsvError& error) {
    EXPECT_NE(std::strstr(error.what(), "did you mean \"value\"?"), nullptr) << error.what();
  }
}

TEST(Csv, WhatIsWrittenReadsBack) {
  std::ostringstream out;
  CsvWriter writer(out);
  writer.Row({"text", "number"});
  const std::vector<std::string> nasty = {"", "a,b", "\"", "line\nbreak", "#x", "\r\n", "ü"};
  for (const std::string& text : nasty) {
    writer.Field(text).Field(0.25).EndRow();
  }
  writer.Field("n").Field(std::int64_t{-7}).EndRow();
  writer.Field("nan").Field(std::nan("")).EndRow();
  const CsvTable table = ParseCsv(out.str(), "t.csv");
  ASSERT_EQ(table.rows.size(), nasty.size() + 2);
  for (std::size_t i = 0; i < nasty.size(); ++i) {
    EXPECT_EQ(table.rows[i].fields[0], nasty[i]);
    EXPECT_EQ(table.Number(table.rows[i], 1), 0.25);
  }
  EXPECT_EQ(table.rows[nasty.size()].fields[1], "-7");
  EXPECT_EQ(table.rows[nasty.size() + 1].fields[1], "");
}

}  // namespace
}  // namespace retable::harness
