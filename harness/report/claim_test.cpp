#include "harness/report/claim.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace retable::harness {
namespace {

using Key = std::pair<std::string, std::string>;

class FakeTable : public TableView {
 public:
  std::map<Key, double> measured = {
      {{"ME-central (l=5)", "NIAE"}, 0.03},   {{"ME-central (l=15)", "NIAE"}, 0.01},
      {{"ME-naive (l=15)", "NIAE"}, 0.2},     {{"ME-central (l=5)", "failures"}, 0},
      {{"ME-central (l=15)", "failures"}, 0}, {{"ME-naive (l=15)", "failures"}, 12},
      {{"KLL", "NIAE"}, std::nan("")},        {{"KLL", "1000"}, 7}};
  std::vector<std::string> rows() const override {
    return {"ME-central (l=5)", "ME-central (l=15)", "ME-naive (l=15)", "KLL"};
  }
  std::vector<std::string> columns() const override { return {"NIAE", "failures", "1000"}; }
  std::optional<double> figure(std::string_view source, const std::string& row,
                               const std::string& column) const override {
    const auto found = measured.find({row, column});
    if (found == measured.end() || (source == "paper" && row == "KLL")) return {};
    return found->second * (source == "paper" ? 1.1 : source == "low" ? 0.9 : 1);
  }
  bool broken(const std::string& row, const std::string&) const override { return row == "broken"; }
};

std::string Check(std::string_view check) {
  return std::string(Name(Evaluate(check, FakeTable()).verdict));
}

std::string ErrorOf(std::string_view check) {
  try {
    Evaluate(check, FakeTable());
  } catch (const ExpressionError& error) {
    return error.what();
  }
  return "no error";
}

// true, false and missing data in one letter each.
const std::map<std::string, std::string> kTruths = {
    {"T", "true"}, {"F", "false"}, {"M", "cell(\"nobody\", \"x\") == 1"}};
const std::map<std::string, std::string> kNames = {
    {"T", "HOLDS"}, {"F", "FAILS"}, {"M", "NO-DATA"}};

TEST(Expression, KleenesTables) {
  const auto binary = [](const std::string& op, const std::string& table) {
    std::size_t at = 0;
    for (const char* a : {"T", "F", "M"}) {
      for (const char* b : {"T", "F", "M"}) {
        const std::string check = kTruths.at(a) + " " + op + " " + kTruths.at(b);
        EXPECT_EQ(Check(check), kNames.at(table.substr(at++, 1))) << check;
      }
    }
  };
  binary("and", "TFMFFFMFM");
  binary("or", "TTTTFMTMM");
  EXPECT_EQ(Check("not true"), "FAILS");
  EXPECT_EQ(Check("not false"), "HOLDS");
  EXPECT_EQ(Check("not (cell(\"nobody\", \"x\") == 1)"), "NO-DATA");
}

TEST(Expression, ArithmeticAndPrecedence) {
  for (const char* check : {"1 + 2 * 3 == 7",
                            "(1 + 2) * 3 == 9",
                            "2 ^ 3 ^ 2 == 512",
                            "-2 ^ 2 == -4",
                            "2 ^ -1 == 0.5",
                            "7 - 2 - 1 == 4",
                            "8 / 4 / 2 == 1",
                            "1e3 == 1000",
                            ".5 == 0.5",
                            "abs(-2) == 2",
                            "min(3, 1, 2) == 1",
                            "max(3, 1, 2) == 3",
                            "log10(1000) == 3",
                            "log2(8) == 3",
                            "log(exp(1)) == 1",
                            "sqrt(9) == 3",
                            "floor(2.7) == 2",
                            "1 < 2 < 3",
                            "not 1 < 2 > 3",
                            "not 1 == 2",
                            "true or false and false",
                            "not false and true",
                            "\"a\" < \"b\"",
                            "'a' + \"b\" == \"ab\"",
                            "\"n=\" + 10 == 'n=10'",
                            "\"it\\\"s\" == 'it\"s'",
                            "1 != 2",
                            "2 >= 2",
                            "2 <= 2",
                            "near(1.1, 1, 0.11)",
                            "not near(1.2, 1, 0.11)",
                            "(true) == true",
                            "- - 2 == 2"}) {
    EXPECT_EQ(Check(check), "HOLDS") << check;
  }
}

TEST(Expression, LooksCellsUp) {
  for (const char* check :
       {R"~(cell("ME-central (l=5)", "NIAE") > cell("ME-central (l=15)", "NIAE"))~",
        R"~(near(cell("ME-naive (l=15)", "NIAE"), paper("ME-naive (l=15)", "NIAE"), 0.1))~",
        R"~(low("ME-naive (l=15)", "NIAE") < high("ME-naive (l=15)", "NIAE"))~",
        R"~(cell("KLL", 1000) == 7)~"}) {
    EXPECT_EQ(Check(check), "HOLDS") << check;
  }
  EXPECT_EQ(Check(R"~(cell("ME-naive (l=15)", "failures") == 0)~"), "FAILS");
  EXPECT_EQ(Check(R"~(cell("ME-naive", "failures") == 0)~"), "NO-DATA");
}

TEST(Expression, MissingDataTaintsArithmetic) {
  for (const char* check :
       {"1 / 0 > 1", "not 0 / 0 > 1", "cell(\"x\", \"y\") + 1 > 0", "-cell(\"x\", \"y\") > 0",
        "abs(cell(\"x\", \"y\")) > 0", "1 < cell(\"x\", \"y\") < 2",
        "paper(\"KLL\", \"NIAE\") == 1", "min(1, cell(\"x\", \"y\")) == 1"}) {
    EXPECT_EQ(Check(check), "NO-DATA") << check;
  }
  EXPECT_EQ(Check("3 < 2 < cell(\"x\", \"y\")"), "FAILS");  // decided without it
  EXPECT_EQ(Check("known(cell(\"x\", \"y\"))"), "FAILS");
  EXPECT_EQ(Check("known(cell(\"KLL\", \"NIAE\"))"), "HOLDS");
}

TEST(Expression, NaNIsDataThatComparesFalse) {
  EXPECT_EQ(Check("cell(\"KLL\", \"NIAE\") < 1"), "FAILS");
  EXPECT_EQ(Check("cell(\"KLL\", \"NIAE\") >= 1"), "FAILS");
  EXPECT_EQ(Check("failed(cell(\"KLL\", \"NIAE\"))"), "HOLDS");
  EXPECT_EQ(Check("failed(max(cell(\"KLL\", \"NIAE\"), 1))"), "HOLDS");
  EXPECT_EQ(Check("failed(min(1, cell(\"KLL\", \"NIAE\")))"), "HOLDS");
}

TEST(Expression, Quantifiers) {
  for (const char* check :
       {R"~(all(row in "ME-central*": cell(row, "failures") == 0))~",
        R"~(any(row in "ME-*": cell(row, "failures") > 0))~",
        R"~(count(row in "ME-*": cell(row, "failures") == 0) == 2)~",
        R"~(share(row in "ME-*": cell(row, "failures") == 0) > 0.6)~",
        R"~(min(row in "ME-*": cell(row, "NIAE")) == 0.01)~",
        R"~(max(row in "ME-*": cell(row, "NIAE")) == 0.2)~",
        R"~(sum(row in "ME-*": cell(row, "failures")) == 12)~",
        R"~(mean(row in "ME-*": cell(row, "failures")) == 4)~",
        R"~(all(c in columns("NIAE", "fail*"): cell("ME-central (l=15)", c) < 1))~",
        R"~(all(l in [5, 15]: cell("ME-central (l=" + l + ")", "failures") == 0))~",
        R"~(all(r in rows("ME-*"): all(c in columns("NIAE"): cell(r, c) < 1)))~",
        R"~(all(r in rows if known(cell(r, "failures")): cell(r, "failures") < 20))~",
        R"~(all(r in "ME-central*": r == r))~",
        R"~(all(x in [1, 2]: all(x in [3]: x == 3) and x < 3))~",
        R"~(count(r in "ME-central (l=?)": true) == 1)~"}) {
    EXPECT_EQ(Check(check), "HOLDS") << check;
  }
}

TEST(Expression, QuantifiersOverMissingData) {
  EXPECT_EQ(Check(R"~(all(r in rows: cell(r, "failures") < 20))~"), "NO-DATA");  // KLL has none
  EXPECT_EQ(Check(R"~(all(r in rows: cell(r, "failures") < 5))~"), "FAILS");  // decided by another
  EXPECT_EQ(Check(R"~(any(r in rows: cell(r, "failures") > 5))~"), "HOLDS");
  EXPECT_EQ(Check(R"~(any(r in rows: cell(r, "failures") > 50))~"), "NO-DATA");
  EXPECT_EQ(Check(R"~(count(r in rows: cell(r, "failures") == 0) == 2)~"), "NO-DATA");
  EXPECT_EQ(Check(R"~(all(r in rows if cell(r, "failures") == 0: true))~"), "NO-DATA");
  for (const char* over_nothing :
       {R"~(all(r in "ME-centrl*": true))~", R"~(any(r in "x": true))~",
        R"~(count(r in "x": true) == 0)~", R"~(all(r in rows if false: true))~"}) {
    EXPECT_EQ(Check(over_nothing), "NO-DATA") << over_nothing;
  }
}

TEST(Expression, WhatFailedOrIsWrongIsNeitherKnownNorLeftOut) {
  const std::string both = R"~(all(r in ["ME-naive (l=15)", "broken"] if known()~";
  EXPECT_EQ(Check(both + R"~(cell(r, "NIAE")): cell(r, "NIAE") < 1))~"), "NO-DATA");
  EXPECT_EQ(Check(both + R"~(2 * cell(r, "NIAE")): cell(r, "NIAE") > 1))~"), "FAILS");
  EXPECT_EQ(Check(both + R"~(paper(r, "NIAE")): paper(r, "NIAE") < 1))~"), "HOLDS");
  EXPECT_EQ(Check(R"~(known(low("broken", "NIAE")))~"), "NO-DATA");
  EXPECT_EQ(Check(R"~(not known(cell("broken", "NIAE") < 1))~"), "NO-DATA");
  EXPECT_EQ(Check(R"~(cell("broken", "NIAE") < 1 or not known(cell("nobody", "NIAE")))~"), "HOLDS");
  EXPECT_EQ(Check(R"~(known(cell("broken", "NIAE") < 1 or true))~"), "HOLDS");
}

TEST(Expression, ResultsCarryTheirFigures) {
  const ClaimResult result = Evaluate(
      R"~(cell("KLL", 1000) == 7 or cell("KLL", "1000") == cell("ME-naive (l=15)", "failures"))~",
      FakeTable());
  ASSERT_EQ(result.figures.size(), 2u);  // each once, and the second though the first decides
  EXPECT_EQ(result.figures[0].row, "KLL");
  EXPECT_EQ(result.figures[0].column, "1000");
  EXPECT_EQ(result.figures[0].value, 7);
  EXPECT_EQ(FiguresText(result.figures),
            "cell(KLL, 1000) = 7; cell(ME-naive (l=15), failures) = 12");
  EXPECT_EQ(FiguresText({{"cell", "a", "b", 0.0213456}, {"low", "a", "b", 1234567.0}}, 3, 3),
            "cell(a, b) = 0.0213; low(a, b) = 1.23e+06");
  EXPECT_EQ(FiguresText(result.figures, 1), "cell(KLL, 1000) = 7 and 1 more");
  EXPECT_EQ(FiguresText({{"paper", "a", "b", {}}, {"cell", "a", "b", std::nan("")}}),
            "paper(a, b) = missing; cell(a, b) = failed");
}

TEST(Expression, ReasonsSayWhereItFailsAndWhatIsMissing) {
  EXPECT_EQ(Evaluate(R"~(all(r in "ME-*": cell(r, "failures") == 0))~", FakeTable()).reason,
            "not for ME-naive (l=15)");
  EXPECT_EQ(Evaluate(R"~(all(x in [true, false]: x))~", FakeTable()).reason, "not for false");
  EXPECT_EQ(Evaluate(R"~(cell("KKL", "NIAE") > 0)~", FakeTable()).reason,
            "no row \"KKL\" (did you mean \"KLL\"?) [KKL, NIAE]");
  EXPECT_EQ(Evaluate(R"~(paper("KLL", "nothing") > 0)~", FakeTable()).reason,
            "the work prints no value [KLL, nothing]");
  EXPECT_EQ(Evaluate(R"~(all(r in "nobody*": true))~", FakeTable()).reason, "no row matches");
}

TEST(Expression, SyntaxErrorsSayWhere) {
  EXPECT_EQ(ErrorOf(""), "expected a value but found the end at character 1");
  EXPECT_EQ(ErrorOf("1 +"), "expected a value but found the end at character 4");
  EXPECT_EQ(ErrorOf("(1 < 2"), "expected \")\" but found the end at character 7");
  EXPECT_EQ(ErrorOf("1 < 2)"), "expected an operator or the end but found \")\" at character 6");
  EXPECT_EQ(ErrorOf("1 = 2"), "\"=\" (equality is \"==\") at character 3");
  EXPECT_EQ(ErrorOf("1 < 2 & 3"), "unexpected character \"&\" at character 7");
  EXPECT_EQ(ErrorOf("\"open"), "string is never closed at character 1");
  EXPECT_EQ(ErrorOf("1e999 > 1"), "number out of range at character 1");
  EXPECT_EQ(ErrorOf("row == 1"), "unknown name \"row\" at character 1");
  EXPECT_NE(ErrorOf("cel(\"a\", \"b\") > 1").find("did you mean \"cell\"?"), std::string::npos);
  EXPECT_EQ(ErrorOf("cell(\"a\") > 1"), "cell takes 2 arguments, not 1 at character 1");
  EXPECT_EQ(ErrorOf("min() > 1"), "min takes 1 or more arguments, not 0 at character 1");
  EXPECT_EQ(ErrorOf("all(1 < 2)"), "expected \"name in set\" but found \"1\" at character 5");
  EXPECT_NE(ErrorOf("every(r in rows: true)").find("unknown quantifier \"every\""),
            std::string::npos);
  EXPECT_NE(ErrorOf("all(r in 3: true)").find("expected a set"), std::string::npos);
  EXPECT_NE(ErrorOf("all(r in rows true)").find("expected \":\""), std::string::npos);
  EXPECT_NE(ErrorOf("all(r in rows(3): true)").find("a pattern in quotes"), std::string::npos);
  EXPECT_NE(ErrorOf("all(r in rows: true) and r == 1").find("unknown name"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(5000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(5000, '-')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(30000, ' ') + "1 < 2").find("too long"), std::string::npos);
  EXPECT_THROW(ParseCheck("1 <"), ExpressionError);
  EXPECT_NO_THROW(ParseCheck("cell(\"anything\", \"at all\") > 1"));
}

TEST(Expression, TypeErrorsSayWhere) {
  EXPECT_EQ(ErrorOf("1 + 2"), "expected true or false but found a number at character 3");
  EXPECT_EQ(ErrorOf("\"a\" - 1 > 0"), "expected a number but found a string at character 1");
  EXPECT_EQ(ErrorOf("1 < \"a\""), "expected a number but found a string at character 5");
  EXPECT_EQ(ErrorOf("not 1"), "expected true or false but found a number at character 5");
  EXPECT_EQ(ErrorOf("true and 1"), "expected true or false but found a number at character 10");
  EXPECT_EQ(ErrorOf("cell(true, \"a\") > 1"),
            "expected a string but found true or false at character 6");
}

// Before anything is measured, whatever of it is missing.
TEST(Expression, TypesAreCheckedWithTheSyntax) {
  for (const char* wrong : {R"~(cell("a", "b"))~",
                            R"~(cell("a", "b") + 1)~",
                            R"~("a")~",
                            R"~(not cell("a", "b"))~",
                            R"~(true or 1)~",
                            R"~(cell("a", "b") > "c")~",
                            R"~(1 < 2 < true)~",
                            R"~(all(r in rows: cell(r, "b")))~",
                            R"~(mean(r in rows: cell(r, "b") > 1) > 0)~",
                            R"~(all(r in rows if cell(r, "b"): true))~",
                            R"~(all(r in rows: r > 1))~",
                            R"~(all(x in [1, 2]: x == "1"))~",
                            R"~(all(x in ["a", 2]: x > 1))~",
                            R"~(all(x in [1, true]: true))~",
                            R"~(cell(1 < 2, "b") > 1)~",
                            R"~(abs("a") > 1)~",
                            R"~("a" - 1 > 0)~",
                            R"~(true + 1 > 0)~",
                            R"~(-"a" > 0)~",
                            R"~(known(-"a"))~",
                            R"~(near(1, 2, "a"))~",
                            R"~(failed("a"))~"}) {
    EXPECT_THROW(ParseCheck(wrong), ExpressionError) << wrong;
  }
  for (const char* right :
       {R"~(known(cell("a", 2)) and not failed(cell("a", "b")))~", R"~("a" + 1 == "a1")~",
        R"~(all(x in ["a", 2]: cell(x, x + "b") > 1 and x + x + "" != ""))~",
        R"~(all(x in [true, false]: x or not x))~", R"~(all(x in [1, 2]: x ^ 2 > 0))~",
        R"~(all(x in rows: all(x in [1]: x > 0) and cell(x, "b") > min(1, -2)))~",
        R"~(share(r in columns("a*") if known(cell("a", r)): cell("a", r) == 1) > 0.5)~"}) {
    EXPECT_NO_THROW(ParseCheck(right)) << right;
  }
  std::string chain = "1";
  for (int i = 0; i < 900; ++i) chain += " + 1";
  EXPECT_NO_THROW(ParseCheck(chain + " == 901"));
}

// A table with one time that is not steady.
class Shaken final : public TableView {
 public:
  std::vector<std::string> rows() const override { return {"a", "b"}; }
  std::vector<std::string> columns() const override { return {"time", "error"}; }
  std::optional<double> figure(std::string_view source, const std::string& row,
                               const std::string&) const override {
    return row == "a" || source == "paper" ? 1 : 2;
  }
  std::string why_unsteady(const std::string& row, const std::string& column) const override {
    return row == "b" && column == "time" ? "the machine was busy" : "";
  }
};

TEST(Claim, OneThatHangsOnAnUnsteadyTimeNeitherHoldsNorFails) {
  const Shaken table;
  for (const char* check :
       {R"~(1.4 * cell("a", "time") < cell("b", "time"))~",
        R"~(cell("b", "time") < 1.4 * cell("a", "time"))~", R"~(low("b", "time") > 1.4)~",
        R"~(all(row in ["a", "b"]: high(row, "time") < 2.9))~",
        R"~(all(row in rows if cell(row, "time") > 1.9: cell(row, "time") < 9))~"}) {
    const ClaimResult result = Evaluate(check, table);
    EXPECT_EQ(Name(result.verdict), "UNSTEADY") << check;
    EXPECT_EQ(result.reason, "not steady: b, time: the machine was busy");
  }
  for (const char* check : {R"~(cell("a", "error") < cell("b", "error"))~",
                            R"~(cell("a", "time") < cell("b", "time"))~",
                            R"~(paper("b", "time") == cell("a", "time"))~"}) {
    EXPECT_EQ(Name(Evaluate(check, table).verdict), "HOLDS") << check;
  }
  EXPECT_EQ(Name(Evaluate(R"~(cell("a", "time") > cell("b", "time"))~", table).verdict), "FAILS");
}

}  // namespace
}  // namespace retable::harness
