#include "base/csv/number.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <string>

namespace retable {
namespace {

using Kind = NumberText::Kind;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Numbers, RoundTripInShortestForm) {
  EXPECT_EQ(FormatNumber(0.1), "0.1");
  EXPECT_EQ(FormatNumber(100000), "100000");
  EXPECT_EQ(FormatNumber(-3), "-3");
  EXPECT_EQ(FormatNumber(0.0), "0");
  EXPECT_EQ(FormatNumber(-0.0), "-0");
  EXPECT_EQ(FormatNumber(1e300), "1e+300");
  EXPECT_EQ(FormatNumber(std::nan("")), "");
  EXPECT_EQ(FormatNumber(kInfinity), "inf");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 6.02214076e23, 1e15, 1e15 - 1,
                             -2.5e-7, -kInfinity}) {
    EXPECT_EQ(ParseNumber(FormatNumber(value)), value);
  }
}

TEST(Numbers, ParseNumberTakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber("+1.5"), 1.5);
  EXPECT_EQ(ParseNumber("1e-999"), 0.0);
  for (const char* bad : {"", "+", "++1", "+-1", "1,5", "1 ", " 1", "1x", "0x10", "1e999"}) {
    EXPECT_FALSE(ParseNumber(bad)) << bad;
  }
}

TEST(Numbers, LocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  // Not installed everywhere; where it is, its decimal comma must not leak.
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(FormatNumber(1234.5), "1234.5");
  EXPECT_EQ(ParseNumber("1234.5"), 1234.5);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Numbers, OneListOfWordsForMissing) {
  for (const char* word : {"", " ", "?", " ? ", "NA", "na", "N/A", "n/a", "NaN", "nan", "-NaN",
                           "NULL", "null", "<NA>", "#N/A", "\t"}) {
    EXPECT_EQ(ReadNumber(word).kind, Kind::kMissing) << word;
    EXPECT_TRUE(std::isnan(ReadNumber(word).value)) << word;
    EXPECT_TRUE(IsMissingWord(word)) << word;
  }
  for (const char* word : {"none", "x", "n", "NAN1", "1 2", "1,5", "0x10", "--1", "1e", "- 1"}) {
    EXPECT_EQ(ReadNumber(word).kind, Kind::kWord) << word;
    EXPECT_FALSE(IsMissingWord(word)) << word;
  }
}

TEST(Numbers, BeyondDoubleIsNoInfinity) {
  for (const char* text : {"1e999", "-1e999", "1E+309", "+1e400", "0.1e310", ".00001e314",
                           "1e99999999999999999999", "17976931348623157.1e300"}) {
    EXPECT_EQ(ReadNumber(text).kind, Kind::kBeyond) << text;
    EXPECT_TRUE(std::isinf(ReadNumber(text).value)) << text;
  }
  EXPECT_EQ(ReadNumber(std::string(400, '9')).kind, Kind::kBeyond);
  for (const char* text : {"1e-999", "-1e-400", "0.1e-330", "1000e-99999999999999999999"}) {
    EXPECT_EQ(ReadNumber(text).kind, Kind::kNumber) << text;
    EXPECT_EQ(ReadNumber(text).value, 0.0) << text;
  }
  EXPECT_EQ(ReadNumber("0." + std::string(400, '0') + "1").value, 0.0);
  EXPECT_EQ(ReadNumber(" 1.7976931348623157e308 ").value, std::numeric_limits<double>::max());
  EXPECT_EQ(ReadNumber("-inf").value, -kInfinity);
  EXPECT_EQ(ReadNumber("4.9e-324").value, 5e-324);
}

}  // namespace
}  // namespace retable
