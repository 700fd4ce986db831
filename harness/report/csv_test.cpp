#include "harness/report/csv.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
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
  EXPECT_EQ(ErrorOf("a,a\n"), "t.csv:1: column \"a\" occurs twice");
  EXPECT_EQ(ErrorOf("a\n\"x\ny\n"), "t.csv:2: quoted field is never closed");
  EXPECT_EQ(ErrorOf("a\n\"x\"y\n"), "t.csv:2: text after the closing quote of a field");
  EXPECT_EQ(ErrorOf("a\nx\"y\n"), "t.csv:2: quote inside a field that does not begin with one");
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

TEST(Csv, NumbersRoundTripInShortestForm) {
  EXPECT_EQ(FormatNumber(0.1), "0.1");
  EXPECT_EQ(FormatNumber(100000), "100000");
  EXPECT_EQ(FormatNumber(-3), "-3");
  EXPECT_EQ(FormatNumber(0.0), "0");
  EXPECT_EQ(FormatNumber(-0.0), "-0");
  EXPECT_EQ(FormatNumber(1e300), "1e+300");
  EXPECT_EQ(FormatNumber(std::nan("")), "");
  EXPECT_EQ(FormatNumber(std::numeric_limits<double>::infinity()), "inf");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 6.02214076e23, 1e15, 1e15 - 1,
                             -2.5e-7, -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(ParseNumber(FormatNumber(value)), value);
  }
}

TEST(Csv, ParseNumberTakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber("+1.5"), 1.5);
  for (const char* bad : {"", "+", "++1", "1,5", "1 ", " 1", "1x", "0x10"}) {
    EXPECT_FALSE(ParseNumber(bad)) << bad;
  }
}

TEST(Csv, LocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  // Not installed everywhere; where it is, its decimal comma must not leak.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(FormatNumber(1234.5), "1234.5");
  EXPECT_EQ(ParseNumber("1234.5"), 1234.5);
  std::setlocale(LC_ALL, before.c_str());
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

TEST(Csv, OneEmptyColumnKeepsItsRows) {
  std::ostringstream out;
  CsvWriter writer(out);
  writer.Row({"only"});
  writer.Row({""});
  writer.Row({"x"});
  EXPECT_EQ(ParseCsv(out.str(), "t.csv").rows.size(), 2u);
}

}  // namespace
}  // namespace retable::harness
