#include "datasets/arff/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "base/utf8.hpp"
#include "datasets/arff/date.hpp"
#include "datasets/openml/gzip.hpp"

namespace retable::datasets {
namespace {

namespace fs = std::filesystem;

std::string Message(const std::string& text) {
  try {
    ArffOptions options;
    options.file = "f.arff";
    ParseArff(text, options);
  } catch (const ParseError& error) {
    return error.what();
  }
  return "no error";
}

void ExpectError(const std::string& text, const std::string& start) {
  EXPECT_EQ(Message(text).rfind("f.arff:" + start, 0), 0u) << Message(text) << "\nin: " << text;
}

TEST(Arff, DenseRowsOfEveryKind) {
  const Frame f = ParseArff(
      "\xEF\xBB\xBF% a comment\r\n"
      "@RELATION 'a b'\r\n"
      "\r\n"
      "@Attribute x REAL\r\n"
      "@attribute 'my nominal' { a, 'b c', \"d,e\", 'f\\'g' , ?, {x}\r\n"
      "@attribute when date \"yyyy-MM-dd HH:mm\"\r\n"
      "@attribute text string % trailing\r\n"
      "@ATTRIBUTE n integer [1,10]\r\n"
      "@DATA\r\n"
      "1.5, a ,\"1970-01-02 00:01\",hello,1\r\n"
      "% between\r\n"
      "\r\n"
      "-2e3,'b c',?,'hello',2,\r\n"
      "?,\"d,e\",'2000-02-29 12:30',\"w\\tx\",+3\r\n"
      ".5,'f\\'g',?,?,4, {2.5}\r\n"
      "5.,'?',?,hello,05 % end");
  ASSERT_EQ(f.rows, 5);
  ASSERT_EQ(f.columns.size(), 5u);
  EXPECT_EQ(f.columns[0].values[0], 1.5f);
  EXPECT_EQ(f.columns[0].values[1], -2000.0f);
  EXPECT_TRUE(std::isnan(f.columns[0].values[2]));
  EXPECT_EQ(f.columns[0].values[3], 0.5f);
  EXPECT_EQ(f.columns[0].values[4], 5.0f);
  EXPECT_EQ(f.columns[0].missing, 1);
  EXPECT_EQ(f.columns[1].name, "my nominal");
  EXPECT_EQ(f.columns[1].levels, (std::vector<std::string>{"a", "b c", "d,e", "f'g", "?", "{x"}));
  for (std::size_t r = 0; r < 5; ++r) EXPECT_EQ(f.columns[1].codes8[r], r);
  EXPECT_EQ(f.columns[2].At(0), 86460.0);
  EXPECT_EQ(f.columns[2].At(2), 951827400.0);
  EXPECT_EQ(f.columns[2].missing, 3);
  EXPECT_EQ(f.columns[3].levels, (std::vector<std::string>{"hello", "w\tx"}));
  EXPECT_EQ(f.columns[3].values[1], 0.0f);
  EXPECT_EQ(f.columns[3].values[2], 1.0f);
  EXPECT_EQ(f.columns[4].values[2], 3.0f);
  EXPECT_EQ(f.columns[4].values[4], 5.0f);
}

TEST(Arff, SparseRows) {
  const Frame f = ParseArff(
      "@relation s\n@attribute a real\n@attribute b {x,y,'z w'}\n@attribute c real\n@data\n"
      "{}\n{0 1, 2 -3.5}\n{1 'z w'}\n{ 1 y , 2 ? } , {0.5}\n{1 y}\n");
  ASSERT_EQ(f.rows, 5);
  const auto row = [&](std::size_t r) {
    return std::vector<float>{f.columns[0].values[r], f.columns[1].values[r],
                              f.columns[2].values[r]};
  };
  EXPECT_EQ(row(0), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(row(1), (std::vector<float>{1, 0, -3.5f}));
  EXPECT_EQ(row(2), (std::vector<float>{0, 2, 0}));
  EXPECT_TRUE(std::isnan(row(3)[2]));
  EXPECT_EQ(row(4), (std::vector<float>{0, 1, 0}));
}

TEST(Arff, BlanksMaySeparate) {
  const Frame f = ParseArff(
      "@relation s\n@attribute a real\n@attribute b {x,'y z'}\n@attribute c real\n@data\n"
      "1 x\t2\n 3\t 'y z'  4 \n5 ? 6\n");
  EXPECT_EQ(f.rows, 3);
  EXPECT_EQ(f.columns[1].values[1], 1.0f);
  EXPECT_EQ(f.columns[2].values[1], 4.0f);
  EXPECT_TRUE(std::isnan(f.columns[1].values[2]));
}

TEST(Arff, LevelsWithBlanksNeedNoQuotesBetweenCommas) {
  const Frame f = ParseArff(
      "@relation r\n@attribute a {New York,LA}\n@attribute b real\n@data\n"
      "New York,1\nLA,2\n");
  EXPECT_EQ(f.columns[0].codes8[0], 0);
  EXPECT_EQ(f.columns[0].codes8[1], 1);
}

TEST(Arff, EscapesAndEncodings) {
  const Frame f = ParseArff(
      "@relation r\n@attribute a {'\\'B1of3\\'',\"x\\\"y\",'\\u00e9t\\u00E9','caf\xE9'}\n@data\n"
      "'\\'B1of3\\''\n'x\"y'\n\xC3\xA9t\xC3\xA9\ncaf\xE9\n");
  ASSERT_EQ(f.rows, 4);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(f.columns[0].codes8[r], r);
  EXPECT_EQ(f.columns[0].levels[0], "'B1of3'");
  EXPECT_EQ(f.columns[0].levels[3], "caf\xC3\xA9");
}

TEST(Arff, ErrorsNameThePlaceAndTheRemedy) {
  const std::string head = "@relation r\n@attribute a real\n@attribute b {x,y}\n@data\n";
  ExpectError("", "1:1: the file ends before @data");
  ExpectError("@relation r\n@attribute a real\n", "3:1: the file ends before @data");
  ExpectError("<!DOCTYPE html>\n", "1:1: this is HTML or XML");
  ExpectError("  <html>", "1:3: this is HTML or XML");
  ExpectError("hello\n", "1:1: expected @relation");
  ExpectError("@relaton r\n", "1:1: unknown declaration \"@relaton\"");
  ExpectError("@relation r\n@attribute a numeric\n@data 1\n2\n", "3:7: text behind @data");
  ExpectError("@data\n", "1:1: @data without any @attribute");
  ExpectError("@attribute a reel\n", "1:14: unknown type \"reel\"");
  ExpectError("@attribute a relational\n", "1:14: unknown type");
  ExpectError("@attribute a\n", "1:13: unknown type \"\"");
  ExpectError("@attribute\n", "1:11: an attribute needs a name");
  ExpectError("@attribute a real\n@attribute a real\n",
              "2:12: the attribute \"a\" is declared twice");
  ExpectError("@attribute a {x,y\n", "1:14: the closing } is missing");
  ExpectError("@attribute a {x,,y}\n", "1:17: an empty level");
  ExpectError("@attribute a {x} y\n", "1:18: unexpected text");
  ExpectError("@attribute 'a real\n", "1:12: the closing ' is missing");
  ExpectError("@attribute '\\u12G4' real\n", "1:17: \\u needs four");
  ExpectError(head + "1,x\nabc,x\n", "6:1: \"abc\" is not a number (attribute \"a\")");
  // As messages on CSV do: 60 bytes, no letter cut.
  const std::string letters(59, 'a');
  ExpectError(head + letters + "\u00e9\u00e9,x\n", "5:1: \"" + letters + "...\" is not a number");
  ExpectError(head + "1,z\n", "5:3: \"z\" is not one of the declared levels (attribute \"b\")");
  ExpectError(head + "1,\n", "5:3: the row ends after 1 of 2 values");
  ExpectError(head + ",x\n", "5:1: an empty value for \"a\"; missing is written ?");
  ExpectError("@attribute s string\n@attribute a real\n@data\nx,1\n,2\n",
              "5:1: an empty value for \"s\"; missing is written ?");
  ExpectError("@attribute s {'',x}\n@attribute a real\n@data\n'',1\n,2\n",
              "5:1: an empty value for \"s\"");
  ExpectError(head + "{0 1}\n{0 1, 1 y, 0 2}\n", "6:12: index 0 twice in one row");
  ExpectError(head + "1\n", "5:2: the row ends after 1 of 2 values");
  ExpectError(head + "1,x,2\n", "5:5: the row has more than 2 values");
  ExpectError(head + "1,'x\n", "5:3: the closing ' is missing");
  ExpectError(head + "1,'x'y\n", "5:6: the row has more than 2 values");
  ExpectError(head + "'1'2,x\n", "5:4: expected a comma");
  ExpectError(head + "{2 1}\n", "5:2: index 2, but there are 2 attributes");
  ExpectError(head + "{99999999999999999999999 1}\n", "5:2: expected an attribute's index");
  ExpectError(head + "{0 1\n", "5:1: the closing } is missing");
  ExpectError(head + "{0,1}\n", "5:3: expected a blank and a value");
  ExpectError(head + "{-1 1}\n", "5:2: expected an attribute's index");
  ExpectError(head + "1,x,{y}\n", "5:5: expected an instance weight");
  ExpectError("@attribute d date\n@data\n2000-02-30T00:00:00\n",
              "3:1: \"2000-02-30T00:00:00\" does");
  ArffOptions few;
  few.file = "f.arff";
  few.max_cells = 3;
  EXPECT_THROW(ParseArff(head + "1,x\n1,x\n", few), ParseError);
}

TEST(Arff, NumbersAreRoundedCorrectly) {
  std::mt19937_64 random(3);
  std::string text = "@relation r\n@attribute a real\n@attribute b real\n@data\n";
  std::vector<double> want;
  char buffer[400];
  const char* formats[] = {"%.0f", "%.3f", "%.6g", "%.17g", "%.12e", "%+.2f", "%.20f", "%g"};
  for (int i = 0; i < 4000; ++i) {
    const double scale = std::pow(10.0, static_cast<double>(random() % 40) - 20);
    const double value = (static_cast<double>(random()) / 1.8e19 - 0.5) * scale;
    std::snprintf(buffer, sizeof buffer, formats[random() % 8], value);
    want.push_back(std::strtod(buffer, nullptr));
    text += buffer;
    text += i % 2 ? "\n" : ",";
  }
  // The builder rounds to float32; compare there.
  const Frame f = ParseArff(text);
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(f.columns[i % 2].values[i / 2], static_cast<float>(want[i])) << i;
  }
}

TEST(Arff, ExtremeNumbers) {
  const Frame f = ParseArff(
      "@relation r\n@attribute a real\n@data\n1e300\n-1e300\n1e-400\n0.5e300\n123456789012345678\n"
      "9007199254740993\n-0\ninf\nnan\n0.1e1\n1E2\n");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto v = f.columns[0].values;
  EXPECT_EQ(v[0], infinity);
  EXPECT_EQ(v[1], -infinity);
  EXPECT_EQ(v[2], 0.0f);
  EXPECT_EQ(v[3], infinity);
  EXPECT_EQ(v[4], 123456789012345678.0f);
  EXPECT_EQ(v[7], infinity);
  EXPECT_TRUE(std::isnan(v[8]));
  EXPECT_EQ(f.columns[0].missing, 1);
  EXPECT_EQ(v[9], 1.0f);
  EXPECT_EQ(v[10], 100.0f);
  for (const char* beyond : {"1e400", "-1e400", "0.5e400", "'1e999'"}) {
    ExpectError(std::string("@relation r\n@attribute a real\n@data\n1\n") + beyond + "\n", "5:1: ");
    EXPECT_NE(Message(std::string("@relation r\n@attribute a real\n@data\n") + beyond + "\n")
                  .find("is beyond the largest number"),
              std::string::npos)
        << beyond;
  }
  for (const char* bad : {"1.2.3", "--1", "0x10", "1e", "+-1", "1 2", "."}) {
    EXPECT_NE(Message(std::string("@relation r\n@attribute a real\n@data\n") + bad + "\n"),
              "no error")
        << bad;
  }
}

TEST(Arff, AnyCutGivesTheSameFrame) {
  const std::string text =
      "@relation r\r\n@attribute a real\r\n@attribute b {x,'y,z'}\r\n@data\r\n"
      "1,x\r\n2.25,'y,z'\r\n?,x\r\n{0 4, 1 'y,z'}\r\n65536,x";
  const Frame whole = ParseArff(text);
  for (std::size_t step = 1; step < text.size(); ++step) {
    ArffParser parser({});
    for (std::size_t i = 0; i < text.size(); i += step) {
      // Each piece in its own buffer, so that a read beyond it shows under the sanitizers.
      const std::vector<char> piece(
          text.begin() + static_cast<std::ptrdiff_t>(i),
          text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), i + step)));
      parser.Feed(std::string_view(piece.data(), piece.size()));
    }
    const Frame cut = parser.Finish();
    ASSERT_EQ(cut.rows, whole.rows) << step;
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t r = 0; r < 5; ++r) {
        const float a = cut.columns[c].values[r], b = whole.columns[c].values[r];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << step;
      }
    }
  }
}

TEST(Arff, RolesDropAndSetApart) {
  ArffOptions options;
  options.roles = [](const std::vector<ColumnInfo>& columns) {
    EXPECT_EQ(columns.size(), 3u);
    return std::vector<ColumnRole>{ColumnRole::kIgnored, ColumnRole::kFeature, ColumnRole::kTarget};
  };
  const Frame f = ParseArff(
      "@relation r\n@attribute id string\n@attribute x real\n@attribute y {a,b}\n@data\nq,1,b\n",
      options);
  ASSERT_EQ(f.columns.size(), 1u);
  EXPECT_EQ(f.columns[0].name, "x");
  EXPECT_EQ(f.target->values[0], 1.0f);
}

TEST(Arff, VeryLongLines) {
  std::string text = "@relation r\n";
  for (int c = 0; c < 5000; ++c) text += "@attribute a" + std::to_string(c) + " real\n";
  text += "@data\n";
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 5000; ++c) text += (c ? "," : "") + std::to_string(c + r);
    text += '\n';
  }
  const Frame f = ParseArff(text);
  EXPECT_EQ(f.rows, 3);
  EXPECT_EQ(f.columns[4999].values[2], 5001.0f);
}

TEST(ArffDate, FormatsAndCalendar) {
  EXPECT_EQ(ParseDate("1970-01-01T00:00:00", kDefaultDateFormat), 0.0);
  EXPECT_EQ(ParseDate("1969-12-31T23:59:59", kDefaultDateFormat), -1.0);
  EXPECT_EQ(ParseDate("2026-11-20T13:00:00", kDefaultDateFormat), 1795179600.0);
  EXPECT_EQ(ParseDate("20000229", "yyyyMMdd"), 951782400.0);
  EXPECT_EQ(ParseDate("1/2/1970", "d/M/yyyy"), 31 * 86400.0);
  EXPECT_EQ(ParseDate("12.250", "ss.SSS"), 12.25);
  for (const char* day : {"01/02/04", "01/02/2004"}) {
    EXPECT_EQ(ParseDate(day, "dd/MM/yy"), 1075593600.0) << day;
  }
  EXPECT_EQ(ParseDate("99-1-2", "y-M-d"), 915235200.0);
  EXPECT_EQ(ParseDate("3", "yy"), ParseDate("0003", "yyyy"));
  for (const char* bad : {"1970-13-01T00:00:00", "1970-00-01T00:00:00", "1900-02-29T00:00:00",
                          "1970-01-01", "1970-01-01T24:00:00", "1970-01-01T00:00:00Z", ""}) {
    EXPECT_FALSE(ParseDate(bad, kDefaultDateFormat).has_value()) << bad;
  }
}

TEST(Utf8, TellsAndRepairs) {
  EXPECT_TRUE(IsUtf8("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* bad : {"\xE9", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(IsUtf8(bad));
    EXPECT_TRUE(IsUtf8(ToUtf8(bad)));
  }
}

//! Files as found in the wild, where RETABLE_SHARED names a folder that has them.
TEST(Arff, FilesFoundInTheWild) {
  const char* shared = std::getenv("RETABLE_SHARED");
  if (shared == nullptr || !fs::exists(fs::path(shared) / "fixtures/arff")) {
    GTEST_SKIP() << "RETABLE_SHARED does not name a folder with fixtures/arff";
  }
  int files = 0;
  for (const char* folder : {"fixtures/arff", "fixtures/arff-crlf"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(shared) / folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::string text((std::istreambuf_iterator<char>(in)), {});
      if (IsGzip(text)) text = Gunzip(text);
      ArffOptions options;
      options.file = entry.path().filename();
      const Frame f = ParseArff(text, options);
      EXPECT_GT(f.rows, 100) << options.file;
      if (options.file == "breast.w.arff") {
        EXPECT_EQ(f.rows, 699);
        EXPECT_EQ(f.columns.size(), 10u);
      }
      if (options.file == "weka_vote.arff") {
        EXPECT_EQ(f.rows, 435);
        EXPECT_EQ(f.columns[10].missing, 21);
      }
      ++files;
    }
  }
  EXPECT_GE(files, 9);
}

}  // namespace
}  // namespace retable::datasets
