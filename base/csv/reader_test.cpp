#include "base/csv/reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "base/csv/writer.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"
#include "base/temporary_folder.hpp"

namespace retable {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Read {
  std::vector<std::string> names;
  Rows rows;
  std::vector<std::int64_t> lines;
};

Read ReadAll(CsvRecords& records) {
  const CsvHeader header(records);
  Read read;
  read.names = header.names;
  CsvRecord record;
  CsvFields fields;
  while (records.Next(record)) {
    header.Split(record, fields);
    read.rows.emplace_back(fields.begin(), fields.end());
    read.lines.push_back(record.line);
  }
  return read;
}

Read ReadAll(std::string_view text, CsvDialect dialect = {}) {
  CsvRecords records(CsvText{text, "t.csv"}, dialect);
  return ReadAll(records);
}

std::string ErrorOf(std::string_view text) {
  try {
    ReadAll(text);
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CsvReader, PlainAndQuoted) {
  const Read read = ReadAll("a,b\n1,\"x, \"\"y\"\"\nz\"\n,\n\"\",\"\"\"\"\n");
  EXPECT_EQ(read.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read.rows, (Rows{{"1", "x, \"y\"\nz"}, {"", ""}, {"", "\""}}));
  EXPECT_EQ(read.lines, (std::vector<std::int64_t>{2, 4, 5}));
}

TEST(CsvReader, LineEndsInsideQuotesAreKept) {
  const Read read = ReadAll(
      "\xEF\xBB\xBF"
      "a,b\r\n\r\n  \t\n\"1\r\n2\n3\r\",2\r\n3, 4 ");
  EXPECT_EQ(read.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read.rows, (Rows{{"1\r\n2\n3\r", "2"}, {"3", " 4 "}}));
  EXPECT_EQ(read.lines, (std::vector<std::int64_t>{4, 7}));
}

TEST(CsvReader, CommentsOnlyWhereAskedFor) {
  const std::string text = "#a,b\n#1,2\nc,4\n";
  EXPECT_EQ(ReadAll(text).names, (std::vector<std::string>{"#a", "b"}));
  EXPECT_EQ(ReadAll(text).rows, (Rows{{"#1", "2"}, {"c", "4"}}));
  const Read read = ReadAll("# say \"5\n" + text + "\"#\",1\n", {.comments = true});
  EXPECT_EQ(read.names, (std::vector<std::string>{"c", "4"}));
  EXPECT_EQ(read.rows, (Rows{{"#", "1"}}));
  EXPECT_EQ(read.lines, (std::vector<std::int64_t>{5}));
}

TEST(CsvReader, LinesAsTheyAre) {
  CsvRecords records(CsvText{"a\"b\r\n\n\xFF,\"", "t"},
                     {.quotes = false, .blank_lines = true, .utf8 = false});
  CsvBlock block;
  ASSERT_TRUE(records.Next(block, 10));
  const CsvBlock moved = std::move(block);
  ASSERT_EQ(moved.records.size(), 3u);
  EXPECT_EQ(moved.records[0].text, "a\"b");
  EXPECT_EQ(moved.records[0].end, "\r\n");
  EXPECT_EQ(moved.records[1].text, "");
  EXPECT_EQ(moved.records[1].end, "\n");
  EXPECT_EQ(moved.records[2].text, "\xFF,\"");
  EXPECT_EQ(moved.records[2].end, "");
  CsvBlock none;
  EXPECT_FALSE(records.Next(none, 10));
  EXPECT_EQ(records.done(), 1);
}

TEST(CsvReader, ErrorsNameFileAndLine) {
  EXPECT_EQ(ErrorOf(""), "t.csv:1: empty: a header line is needed");
  EXPECT_EQ(ErrorOf("\n\n"), "t.csv:1: empty: a header line is needed");
  EXPECT_EQ(ErrorOf("a,b\n1\n"), "t.csv:2: 1 fields where the header has 2");
  EXPECT_EQ(ErrorOf("a,b\n1,2,3\n"), "t.csv:2: 3 fields where the header has 2");
  EXPECT_EQ(ErrorOf("b,a,a\n"),
            "t.csv:1: column \"a\" occurs twice; does this line hold the names?");
  EXPECT_EQ(ErrorOf("a\n\"x\ny\n"), "t.csv:2: a quoted field is never closed");
  EXPECT_EQ(ErrorOf("a\n\"x\"y\n"), "t.csv:2: field 1: text after the closing quote");
  EXPECT_EQ(ErrorOf("a,b\n1,x\"y\"\n"),
            "t.csv:2: field 2: a quote inside a field that does not begin with one");
  EXPECT_EQ(ErrorOf("a,b\r1,2\r"),
            "t.csv:1: field 2: a carriage return inside a field without quotes; lines end with LF "
            "or CRLF");
  EXPECT_EQ(ErrorOf("5.1,3\n4,3\n"),
            "t.csv:1: numbers, not names; a header line with the columns' names is needed");
  EXPECT_EQ(ErrorOf("0,1,2\n4,3,7\n"), "no error");
  EXPECT_EQ(ErrorOf("1,2\n4,3\n"), "no error");
}

// Where there is one column, others write a missing value so.
TEST(CsvReader, BlankLinesWithinOneColumnAreRefused) {
  const auto rows = [](const std::string& text) {
    CsvRecords records(CsvText{text, "t"});
    const CsvHeader header(records);
    CsvRecord record;
    int count = 0;
    while (records.Next(record)) ++count;
    return count;
  };
  EXPECT_EQ(rows("\na\n1\n\"\"\n2\n\n \n"), 3);
  EXPECT_EQ(rows("a,b\n1,2\n\n3,4\n"), 2);
  try {
    rows("a\n1\n\n\n2\n");
    FAIL();
  } catch (const CsvError& problem) {
    EXPECT_TRUE(std::string(problem.what()).starts_with("t:3: a blank line")) << problem.what();
  }
}

TEST(CsvReader, OnlyUtf8Enters) {
  EXPECT_EQ(ErrorOf("a\nz\xC3\xBCg\nz\xFCg\n"),
            "t.csv:3: byte 2 is not UTF-8; convert the file, as by iconv -f latin1 -t utf-8");
  EXPECT_EQ(ErrorOf("a,b\n\"x\ny\xFF\",2\n"),
            "t.csv:3: byte 2 is not UTF-8; convert the file, as by iconv -f latin1 -t utf-8");
  EXPECT_EQ(ErrorOf(std::string_view("a\n1\0\n", 5)), "t.csv:2: byte 2 is zero: this is no text");
  EXPECT_NE(ErrorOf("\xFF\xFE"
                    "a")
                .find("t.csv is UTF-16"),
            std::string::npos);
  EXPECT_NE(ErrorOf("\x1F\x8B\x08").find("t.csv is compressed"), std::string::npos);
}

TEST(CsvReader, NumbersAreNamesWhereTheyAreKnown) {
  const std::vector<std::string> known = {"2020", "2019"}, other = {"2021"};
  CsvRecords records(CsvText{"2019,2020\n1,2\n", "t.csv"}),
      again(CsvText{"2019,2020\n1,2\n", "t.csv"});
  EXPECT_EQ(CsvHeader(records, known).names, (std::vector<std::string>{"2019", "2020"}));
  EXPECT_THROW(CsvHeader(again, other), CsvError);
}

// A row of a table without a header: it was lost without a word.
TEST(CsvReader, ARowIsNoHeader) {
  EXPECT_EQ(ErrorOf("5.1,3.5,setosa\n4.9,3,setosa\n"),
            "t.csv:1: numbers, not names; a header line with the columns' names is needed");
  EXPECT_EQ(ErrorOf("year,2019,2020\na,1,2\n"), "no error");
  EXPECT_EQ(ErrorOf("0.5,name,word\n1,a,b\n"), "no error");
}

TEST(CsvReader, NumbersAreNumbersOrSaidNotToBe) {
  CsvRecords records(CsvText{"a,b\n 2.5 ,1e39\n?,1e999\nx,1e-999\n", "t.csv"});
  const CsvHeader header(records);
  CsvBlock block;
  ASSERT_TRUE(records.Next(block, 9));
  CsvFields fields;
  const auto number = [&](std::size_t row, std::size_t column, bool single) -> std::string {
    header.Split(block.records.at(row), fields);
    try {
      std::ostringstream text;
      text << (single
                   ? static_cast<double>(header.Float(block.records[row], fields[column], column))
                   : header.Number(block.records[row], fields[column], column));
      return text.str();
    } catch (const CsvError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(number(0, 0, false), "2.5");
  EXPECT_EQ(number(0, 0, true), "2.5");
  EXPECT_EQ(number(0, 1, false), "1e+39");
  EXPECT_EQ(number(0, 1, true),
            "t.csv:2: column \"b\": \"1e39\" is beyond the largest number of 32 bits, 3.4e38; "
            "scale the column");
  EXPECT_EQ(number(1, 0, true), "nan");
  EXPECT_EQ(number(1, 1, false),
            "t.csv:3: column \"b\": \"1e999\" is beyond the largest number, 1.8e308");
  EXPECT_EQ(number(2, 0, false), "t.csv:4: column \"a\": \"x\" is no number");
  EXPECT_EQ(number(2, 1, false), "0");
}

TEST(CsvReader, FilesThatCannotBeRead) {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path) -> std::string {
    try {
      CsvRecords records(path);
    } catch (const CsvError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("/nowhere.csv"), "/nowhere.csv: No such file or directory");
  EXPECT_EQ(error(folder.path().string()), folder.path().string() + ": Is a directory");
  EXPECT_EQ(error("/dev/null"), "no error");
}

// Random tables, written by the writer or by hand with needless quotes and either line end, come
// back whole, whatever lies on the border of two blocks.
TEST(OracleCsv, WhatIsWrittenReadsBack) {
  std::mt19937_64 random(FreshSeed());
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "t.csv").string();
  const std::vector<std::string> parts = {",", "\"",       "\n",   "\r\n",        "\r", "#",
                                          " ", "\xC3\xBC", "NA",   "1",           "\t", "x",
                                          "",  "?",        "\"\"", "\xEF\xBB\xBF"};
  OracleClock clock(0.5);
  while (clock.more()) {
    const std::size_t columns = 1 + random() % 4;
    const std::size_t rows = clock.cases() % 8 == 0 ? 200000 / columns : random() % 50;
    const bool by_hand = random() % 2 == 0;
    const std::string end = random() % 2 == 0 ? "\r\n" : "\n";
    Rows table(rows + 1);
    std::ostringstream text;
    CsvWriter writer(text);
    for (std::size_t r = 0; r <= rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        std::string field = r == 0 ? "name " + std::to_string(c) : "";
        for (std::size_t k = random() % 6; k > 0; --k) field += parts[random() % parts.size()];
        table[r].push_back(field);
      }
      if (!by_hand) {
        writer.Row(table[r]);
        continue;
      }
      for (std::size_t c = 0; c < columns; ++c) {
        std::string field = CsvField(table[r][c]);
        const bool bare = field == table[r][c] && !field.empty() && random() % 2 == 0;
        text << (c > 0 ? "," : "") << (bare || field[0] == '"' ? field : "\"" + field + "\"");
      }
      text << (r == rows && random() % 2 == 0 ? "" : end);
    }
    std::ofstream(path, std::ios::binary) << text.str();
    CsvRecords records(path);
    const Read read = ReadAll(records);
    ASSERT_EQ(read.names, table[0]);
    ASSERT_EQ(read.rows.size(), rows);
    for (std::size_t r = 0; r < rows; ++r) ASSERT_EQ(read.rows[r], table[r + 1]) << "row " << r;
    ASSERT_EQ(records.done(), 1);
    ASSERT_EQ(ReadAll(text.str(), {.comments = !by_hand}).rows, read.rows);
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

// Any bytes at all: an answer or a CsvError, and the same from memory and from a file.
TEST(OracleCsv, AnyBytesAreAnsweredAlikeFromFileAndMemory) {
  std::mt19937_64 random(FreshSeed());
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "t.csv").string();
  const std::string letters = ",,,\"\"\n\n\r#a1 \t\xEF\xBB\xBF";
  OracleClock clock(0.5);
  while (clock.more()) {
    std::string text;
    for (std::size_t k = random() % 40; k > 0; --k) {
      text += random() % 50 == 0 ? static_cast<char>(random()) : letters[random() % letters.size()];
    }
    std::ofstream(path, std::ios::binary) << text;
    const auto answer = [](CsvRecords& records) {
      std::string all;
      try {
        const Read read = ReadAll(records);
        for (const auto& row : read.rows) {
          for (const std::string& field : row) all += field + "|";
        }
      } catch (const CsvError& error) {
        const std::string what = error.what();
        all = what.substr(what.find(':'));
      }
      return all;
    };
    CsvRecords memory(CsvText{text, "t.csv"}, {.comments = text.size() % 2 == 0});
    std::string file;
    try {
      CsvRecords records(path, {.comments = text.size() % 2 == 0});
      file = answer(records);
    } catch (const CsvError&) {
      continue;
    }
    ASSERT_EQ(answer(memory), file) << text;
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

}  // namespace
}  // namespace retable
