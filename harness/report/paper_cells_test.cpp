#include "harness/report/paper_cells.hpp"

#include <gtest/gtest.h>

#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

constexpr const char* kHeader = "row,column,value,unit,kind,tolerance,page,table,note\n";

std::string ErrorOf(const std::string& text) {
  try {
    ParsePaperCells(text, "t.paper.csv");
  } catch (const CsvError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PaperCells, ReadsEveryField) {
  const auto cells =
      ParsePaperCells(std::string("# Table 2 of the thesis\n") + kHeader +
                          "ME-central (l=15),NIAE,0.0042,1,accuracy,10%,41,2,checked twice\n"
                          "ME-central (l=15),failures,0,columns,count,1 abs,41,2,\n"
                          "KLL,NIAE,,1,accuracy,,41,2,illegible\n"
                          "KLL,speed-up,3.5,1,ratio,,41,2,\n"
                          "KLL,time,2e-3,s,time,0.5,41,2,\n",
                      "t.paper.csv");
  ASSERT_EQ(cells.size(), 5u);
  EXPECT_EQ(cells[0].row, "ME-central (l=15)");
  EXPECT_EQ(cells[0].column, "NIAE");
  EXPECT_EQ(cells[0].value, 0.0042);
  EXPECT_EQ(cells[0].unit, "1");
  EXPECT_EQ(cells[0].kind, CellKind::kAccuracy);
  EXPECT_DOUBLE_EQ(cells[0].Agrees().low, 0.0042 - 0.00042);
  EXPECT_DOUBLE_EQ(cells[0].Agrees().high, 0.0042 + 0.00042);
  EXPECT_EQ(cells[0].page, "41");
  EXPECT_EQ(cells[0].table, "2");
  EXPECT_EQ(cells[0].note, "checked twice");
  EXPECT_EQ(cells[0].line, 3);
  EXPECT_TRUE(cells[1].absolute);
  EXPECT_EQ(cells[1].Agrees().high, 1);
  EXPECT_FALSE(cells[2].value);
  EXPECT_EQ(cells[2].tolerance, 0.1);
  EXPECT_EQ(cells[3].kind, CellKind::kRatio);
  EXPECT_EQ(cells[3].tolerance, 0.2);
  EXPECT_EQ(cells[4].kind, CellKind::kTime);
  EXPECT_EQ(cells[4].tolerance, 0.5);
}

TEST(PaperCells, TheBandOfANegativeValueHoldsIt) {
  const auto cells = ParsePaperCells(std::string(kHeader) + "a,b,-2,1,accuracy,0.1,,,\n", "t");
  EXPECT_DOUBLE_EQ(cells[0].Agrees().low, -2.2);
  EXPECT_DOUBLE_EQ(cells[0].Agrees().high, -1.8);
  EXPECT_TRUE(cells[0].Agrees().Holds(-2.2));
}

TEST(PaperCells, BoundsSettingsGroupsAndSampledSpreads) {
  const auto cells = ParsePaperCells(
      "row,column,value,unit,kind,tolerance,group\n"
      "total,times X,<=14.5,1,bound,,mnist\n"
      "iris,accuracy,>= 0.95,1,bound,,\n"
      "iris,rows,150,1,setting,0,\n"
      "SBQ,std,0.02,1,accuracy,sampling(25),\n",
      "t");
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[0].kind, CellKind::kBound);
  EXPECT_EQ(cells[0].value, 14.5);
  EXPECT_TRUE(cells[0].at_most);
  EXPECT_EQ(cells[0].Text(), "<=14.5");
  EXPECT_EQ(cells[0].group, "mnist");
  EXPECT_FALSE(cells[1].at_most);
  EXPECT_EQ(cells[1].Text(), ">=0.95");
  EXPECT_EQ(cells[2].kind, CellKind::kSetting);
  EXPECT_EQ(cells[2].Text(), "150");
  EXPECT_EQ(cells[3].trials, 25);
}

TEST(PaperCells, UnitPageTableAndNoteMayBeMissing) {
  const auto cells = ParsePaperCells("row,column,value,kind,tolerance\na,b,1,count,0\n", "t");
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].note, "");
}

TEST(PaperCells, ErrorsSayWhere) {
  const std::string header = kHeader;
  EXPECT_EQ(ErrorOf(header + "a,b,1,1,acuracy,0.1,,,\n"),
            "t.paper.csv:2: unknown kind \"acuracy\" (did you mean \"accuracy\"? known: accuracy, "
            "ratio, count, time, bound, setting)");
  EXPECT_EQ(ErrorOf(header + "a,b,one,1,count,0.1,,,\n"),
            "t.paper.csv:2: column \"value\": \"one\" is no number");
  for (const char* bad : {"x", "-1", "1abs%", "inf", "nan", "abs", "sampling()", "sampling(1)",
                          "sampling(2.5)", "sampling(25"}) {
    EXPECT_NE(ErrorOf(header + "a,b,1,1,count," + bad + ",,,\n").find("t.paper.csv:2: tolerance"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(ErrorOf(header + "a,b,14.5,1,bound,,,,\n"),
            "t.paper.csv:2: a bound is written \"<=14.5\" or \">=0.95\", not \"14.5\"");
  EXPECT_NE(ErrorOf(header + "a,b,<=x,1,bound,,,,\n").find("bounds by no number"),
            std::string::npos);
  EXPECT_NE(ErrorOf(header + "a,b,<=2,1,count,,,,\n").find("\"<=2\" is no number"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(header + "a,b,1,1,count,0,,,\na,b,2,1,count,0,,,\n"),
            "t.paper.csv:3: the cell \"a\", \"b\" is given twice");
  EXPECT_EQ(ErrorOf(header + ",b,1,1,count,0,,,\n"), "t.paper.csv:2: row and column must be named");
  EXPECT_NE(ErrorOf("row,column,value,kind\na,b,1,count\n").find("no column \"tolerance\""),
            std::string::npos);
  EXPECT_NE(ErrorOf("row,column,value,kind,tolerance,pages\n").find("did you mean \"page\"?"),
            std::string::npos);
  EXPECT_THROW(ReadPaperCells("/nowhere.paper.csv"), CsvError);
}

TEST(PaperCells, KindsHaveNames) {
  EXPECT_EQ(Name(CellKind::kAccuracy), "accuracy");
  EXPECT_EQ(Name(CellKind::kRatio), "ratio");
  EXPECT_EQ(Name(CellKind::kCount), "count");
  EXPECT_EQ(Name(CellKind::kTime), "time");
  EXPECT_EQ(Name(CellKind::kBound), "bound");
  EXPECT_EQ(Name(CellKind::kSetting), "setting");
}

}  // namespace
}  // namespace retable::harness
