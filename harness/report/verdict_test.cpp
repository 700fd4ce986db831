#include "harness/report/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace retable::harness {
namespace {

PublishedCell Cell(std::string row, std::optional<double> value, CellKind kind, double tolerance,
                   bool absolute = false) {
  PublishedCell cell;
  cell.row = std::move(row);
  cell.column = "c";
  cell.value = value;
  cell.kind = kind;
  cell.tolerance = tolerance;
  cell.absolute = absolute;
  return cell;
}

MeasuredCell Measured(double value, double half_width = 0) {
  MeasuredCell cell{.run = true, .value = value, .n = 10};
  cell.ci_low = value - half_width;
  cell.ci_high = value + half_width;
  return cell;
}

using Values = std::map<std::string, MeasuredCell>;

std::vector<Verdict> JudgeAll(const std::vector<PublishedCell>& cells, const Values& values) {
  return Judge(cells, [&](const std::string& row, const std::string&) {
    const auto found = values.find(row);
    return found == values.end() ? MeasuredCell{} : found->second;
  });
}

VerdictKind One(const PublishedCell& cell, const MeasuredCell& measured) {
  return JudgeAll({cell}, {{cell.row, measured}})[0].kind;
}

constexpr auto kAccuracy = CellKind::kAccuracy;

TEST(Verdict, NoDataWithoutAPublishedValue) {
  EXPECT_EQ(One(Cell("a", {}, kAccuracy, 0.1), Measured(1)), VerdictKind::kNoData);
  EXPECT_EQ(One(Cell("a", {}, CellKind::kTime, 0.1), MeasuredCell{}), VerdictKind::kNoData);
}

TEST(Verdict, NotRunKeepsTheReason) {
  MeasuredCell missing;
  missing.reason = "no CUDA device";
  const auto verdicts = JudgeAll({Cell("a", 1, kAccuracy, 0.1)}, {{"a", missing}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kNotRun);
  EXPECT_EQ(verdicts[0].reason, "no CUDA device");
  EXPECT_TRUE(std::isnan(verdicts[0].ratio));
}

// Nor is another row set in order with it; a failure among the measured cells is one.
TEST(Verdict, AValueFromAPartOfItsCellsIsNotJudged) {
  MeasuredCell part = Measured(1);
  part.partial = "1 of 2 cells is not measured yet";
  const std::vector<PublishedCell> cells = {Cell("a", 1, kAccuracy, 0.1),
                                            Cell("b", 2, kAccuracy, 0.1)};
  auto verdicts = JudgeAll(cells, {{"a", part}, {"b", Measured(3)}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kNotJudged);
  EXPECT_EQ(verdicts[0].reason, part.partial);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::kMismatch);
  EXPECT_NE(verdicts[1].reason.find("no other row"), std::string::npos) << verdicts[1].reason;
  part.failed = true;
  EXPECT_EQ(One(cells[0], part), VerdictKind::kFailed);
}

TEST(Verdict, MatchWhenTheIntervalLiesInTheBand) {
  const PublishedCell cell = Cell("a", 1.0, kAccuracy, 0.1);
  EXPECT_EQ(One(cell, Measured(1.05)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(1.1)), VerdictKind::kMatch);  // on the edge
  EXPECT_EQ(One(cell, Measured(0.9)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(1.05, 0.05)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(1.05, 0.06)), VerdictKind::kMismatch);  // noise does not help
  EXPECT_EQ(One(cell, Measured(1.2, 0.11)), VerdictKind::kMismatch);   // it only touches
  EXPECT_EQ(One(cell, Measured(1.2, 0.05)), VerdictKind::kMismatch);
  EXPECT_EQ(JudgeAll({cell}, {{"a", Measured(1.05, 0.06)}})[0].reason,
            "not all of the interval is within 10 % of the paper; no other row to set it in order "
            "with");
  EXPECT_EQ(One(cell, Measured(0.8, 0.05)), VerdictKind::kMismatch);
}

TEST(Verdict, AbsoluteTolerance) {
  const PublishedCell cell = Cell("a", 0.0, CellKind::kCount, 2, true);
  EXPECT_EQ(One(cell, Measured(2)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(3)), VerdictKind::kMismatch);
}

TEST(Verdict, AZeroOfThePaperMatchesOnlyZeroByRelativeTolerance) {
  const PublishedCell cell = Cell("a", 0.0, CellKind::kCount, 0.5);
  EXPECT_EQ(One(cell, Measured(0)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(1)), VerdictKind::kMismatch);
}

TEST(Verdict, AValueWithoutAnIntervalStandsForItself) {
  MeasuredCell bare;
  bare.run = true;
  bare.value = 1.05;
  EXPECT_EQ(One(Cell("a", 1.0, kAccuracy, 0.1), bare), VerdictKind::kMatch);
}

TEST(Verdict, AllFailedIsFailedWhateverTheKind) {
  for (const CellKind kind : {kAccuracy, CellKind::kRatio, CellKind::kCount, CellKind::kTime}) {
    const auto verdicts = JudgeAll({Cell("a", 1, kind, 0.1)}, {{"a", Measured(std::nan(""))}});
    EXPECT_EQ(verdicts[0].kind, VerdictKind::kFailed);
    EXPECT_EQ(verdicts[0].reason, "every sample failed");
  }
}

TEST(Verdict, AFailureIsNoOtherHardwareAndKeepsItsReason) {
  MeasuredCell wrong;
  wrong.failed = true;
  wrong.reason = "wrong_result: difference = 1";
  PublishedCell time = Cell("a", 1, CellKind::kTime, 0.1);
  time.note = "failed";  // no answer is not a wrong answer
  for (const PublishedCell& cell : {time, Cell("a", 1, kAccuracy, 0.1)}) {
    const auto verdicts = JudgeAll({cell}, {{"a", wrong}});
    EXPECT_EQ(verdicts[0].kind, VerdictKind::kFailed);
    EXPECT_EQ(verdicts[0].reason, "wrong_result: difference = 1");
  }
}

TEST(Verdict, AllFailedAsInTheWorkIsAMatch) {
  PublishedCell cell = Cell("a", 1, kAccuracy, 0.1);
  cell.note = "failed";
  const auto verdicts = JudgeAll({cell}, {{"a", Measured(std::nan(""))}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kMatch);
  EXPECT_EQ(verdicts[0].reason, "every sample failed, as in the work");
  EXPECT_EQ(One(cell, Measured(0.5)), VerdictKind::kMismatch);  // an answer is judged as ever
}

TEST(Verdict, InfinityMatchesInfinity) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(One(Cell("a", inf, kAccuracy, 0.1), Measured(inf)), VerdictKind::kMatch);
  EXPECT_EQ(One(Cell("a", inf, kAccuracy, 0.1), Measured(1)), VerdictKind::kMismatch);
}

TEST(Verdict, TrendWhenTheOrderHolds) {
  // Everything measured three times the paper's: no match, the order kept throughout.
  std::vector<PublishedCell> cells;
  Values values;
  for (int i = 1; i <= 6; ++i) {
    cells.push_back(Cell(std::to_string(i), i, kAccuracy, 0.01));
    values[std::to_string(i)] = Measured(3.0 * i);
  }
  for (const Verdict& verdict : JudgeAll(cells, values)) {
    EXPECT_EQ(verdict.kind, VerdictKind::kTrend);
    EXPECT_EQ(verdict.ratio, 3);
    EXPECT_NE(verdict.reason.find("order kept in 5 of 5 pairs"), std::string::npos);
  }
}

TEST(Verdict, TenTimesOffInTheRightOrderIsOrderOnly) {
  for (const double factor : {10.0, 0.1}) {
    std::vector<PublishedCell> cells;
    Values values;
    for (int i = 1; i <= 6; ++i) {
      cells.push_back(Cell(std::to_string(i), i, kAccuracy, 0.01));
      values[std::to_string(i)] = Measured(factor * i);
    }
    for (const Verdict& verdict : JudgeAll(cells, values)) {
      EXPECT_EQ(verdict.kind, VerdictKind::kOrderOnly);
      EXPECT_NE(verdict.reason.find("more than 3 times off; order kept"), std::string::npos);
    }
  }
}

TEST(Verdict, AZeroOfThePaperIsMissedByMoreThanAnyFactor) {
  const auto verdicts =
      JudgeAll({Cell("a", 0, CellKind::kCount, 0.1), Cell("b", 5, CellKind::kCount, 0.1)},
               {{"a", Measured(1)}, {"b", Measured(5)}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kOrderOnly);
}

TEST(Verdict, BoundsAreOneSided) {
  PublishedCell most = Cell("a", 14.5, CellKind::kBound, 0.1);
  most.at_most = true;
  EXPECT_EQ(One(most, Measured(14.5)), VerdictKind::kMatch);
  EXPECT_EQ(One(most, Measured(0.1)), VerdictKind::kMatch);
  EXPECT_EQ(One(most, Measured(14.6)), VerdictKind::kMismatch);  // no tolerance
  EXPECT_EQ(JudgeAll({most}, {{"a", Measured(18.98)}})[0].reason, "at most 14.5 was published");
  const PublishedCell least = Cell("a", 0.95, CellKind::kBound, 0.1);
  EXPECT_EQ(One(least, Measured(0.96, 0.02)), VerdictKind::kMatch);  // by its value
  EXPECT_EQ(One(least, Measured(0.94, 0.02)), VerdictKind::kMismatch);
  EXPECT_EQ(One(least, Measured(std::nan(""))), VerdictKind::kFailed);
}

TEST(Verdict, SettingsAreJudgedAsAccuraciesAre) {
  const PublishedCell cell = Cell("a", 10, CellKind::kSetting, 0);
  EXPECT_EQ(One(cell, Measured(10)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(11)), VerdictKind::kMismatch);
}

TEST(Verdict, AStandardDeviationMayDifferByTheSamplingErrorOfItsTrials) {
  PublishedCell cell = Cell("a", 1, kAccuracy, 0.1);
  cell.trials = 25;  // tables of chi squared, 24 degrees: 12.401 and 39.364
  EXPECT_NEAR(cell.Agrees().low, std::sqrt(24 / 39.364), 1e-5);
  EXPECT_NEAR(cell.Agrees().high, std::sqrt(24 / 12.401), 1e-4);
  EXPECT_EQ(One(cell, Measured(0.79)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(0.77)), VerdictKind::kMismatch);
  EXPECT_EQ(One(cell, Measured(1.38)), VerdictKind::kMatch);
  EXPECT_EQ(One(cell, Measured(1.40)), VerdictKind::kMismatch);
  EXPECT_EQ(JudgeAll({cell}, {{"a", Measured(1)}})[0].reason,
            "within the sampling error of 25 trials of the paper");
}

TEST(Verdict, CountsAndTimesKeepOrderWithinOneModelOnly) {
  // In the whole column the order of four rows is the sizes' of the models; within each it is lost.
  for (const bool by_cell : {true, false}) {
    for (const CellKind kind : {CellKind::kCount, CellKind::kTime, kAccuracy}) {
      std::vector<PublishedCell> cells;
      Values values;
      const auto add = [&](const char* row, const char* group, double paper, double measured) {
        cells.push_back(Cell(row, paper, kind, 0.01));
        values[row] = Measured(measured);
        (by_cell ? cells.back().group : values[row].group) = group;
      };
      add("small one", "small", 1, 2.2);
      add("small two", "small", 2, 1.1);
      add("large one", "large", 1000, 2200);
      add("large two", "large", 2000, 1100);
      const Verdict first = JudgeAll(cells, values)[0];
      if (kind == CellKind::kAccuracy) {
        EXPECT_NE(first.reason.find("order kept in 2 of 3 pairs"), std::string::npos);
      } else {
        EXPECT_NE(first.reason.find("order kept in 0 of 1 pair"), std::string::npos);
      }
    }
  }
}

TEST(Verdict, EightyPercentOfThePairsSuffice) {
  std::vector<PublishedCell> cells;
  Values values;
  for (int i = 1; i <= 6; ++i) {
    cells.push_back(Cell(std::to_string(i), i, kAccuracy, 0.01));
    values[std::to_string(i)] = Measured(2.0 * i);
  }
  values["6"] = Measured(9);  // below 5's 10: rows 5 and 6 lose one pair of five each
  auto verdicts = JudgeAll(cells, values);
  EXPECT_EQ(verdicts[5].kind, VerdictKind::kTrend);
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kTrend);
  values["6"] = Measured(7);  // below 4's as well: row 6 keeps three of five
  verdicts = JudgeAll(cells, values);
  EXPECT_EQ(verdicts[5].kind, VerdictKind::kMismatch);
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kTrend);
}

TEST(Verdict, PairsThePaperDoesNotTellApartDoNotCount) {
  // 1.00 and 1.05 are within the 10 % of each other; only the pairs with 9 count.
  const std::vector<PublishedCell> cells = {Cell("a", 1.00, kAccuracy, 0.1),
                                            Cell("b", 1.05, kAccuracy, 0.1),
                                            Cell("z", 9, kAccuracy, 0.1)};
  const auto verdicts =
      JudgeAll(cells, {{"a", Measured(3)}, {"b", Measured(2)}, {"z", Measured(5)}});
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.kind, VerdictKind::kTrend);
  EXPECT_NE(verdicts[0].reason.find("1 of 1 pair"), std::string::npos);
}

TEST(Verdict, EqualMeasuredValuesKeepNoOrder) {
  const auto verdicts = JudgeAll({Cell("a", 1, kAccuracy, 0.01), Cell("b", 2, kAccuracy, 0.01)},
                                 {{"a", Measured(7)}, {"b", Measured(7)}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kMismatch);
}

TEST(Verdict, UnmeasuredFailedOtherKindsAndOtherColumnsAreNoPartners) {
  std::vector<PublishedCell> cells = {
      Cell("a", 1, kAccuracy, 0.01), Cell("b", 2, kAccuracy, 0.01), Cell("c", 3, kAccuracy, 0.01),
      Cell("d", 4, CellKind::kCount, 0.01), Cell("e", 5, kAccuracy, 0.01)};
  cells[4].column = "other";
  const auto verdicts = JudgeAll(cells, {{"a", Measured(9)},
                                         {"c", Measured(std::nan(""))},
                                         {"d", Measured(40)},
                                         {"e", Measured(50)}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kMismatch);
  EXPECT_NE(verdicts[0].reason.find("no other row"), std::string::npos);
}

TEST(Verdict, RatioByItsSideOfOne) {
  const PublishedCell faster = Cell("a", 3.0, CellKind::kRatio, 0.2);
  EXPECT_EQ(One(faster, Measured(2.9)), VerdictKind::kMatch);
  EXPECT_EQ(One(faster, Measured(1.5)), VerdictKind::kTrend);
  EXPECT_EQ(One(faster, Measured(9)), VerdictKind::kTrend);
  EXPECT_EQ(One(faster, Measured(9.1)), VerdictKind::kOrderOnly);
  EXPECT_EQ(One(faster, Measured(30)), VerdictKind::kOrderOnly);
  EXPECT_EQ(One(faster, Measured(1.0)), VerdictKind::kMismatch);
  EXPECT_EQ(One(faster, Measured(0.5)), VerdictKind::kMismatch);
  const PublishedCell slower = Cell("a", 0.5, CellKind::kRatio, 0.2);
  EXPECT_EQ(One(slower, Measured(0.9)), VerdictKind::kTrend);
  EXPECT_EQ(One(slower, Measured(1.1)), VerdictKind::kMismatch);
  EXPECT_EQ(One(Cell("a", 1.0, CellKind::kRatio, 0.2), Measured(2)), VerdictKind::kMismatch);
}

TEST(Verdict, TimesAreNeverJudgedButTheirOrderIsTold) {
  const std::vector<PublishedCell> cells = {Cell("a", 1, CellKind::kTime, 0.2),
                                            Cell("b", 10, CellKind::kTime, 0.2),
                                            Cell("c", 5, CellKind::kTime, 0.2)};
  const auto verdicts =
      JudgeAll(cells, {{"a", Measured(1)}, {"b", Measured(2)}, {"c", Measured(0.5)}});
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.kind, VerdictKind::kDifferentHardware);
  }
  EXPECT_NE(verdicts[0].reason.find("order kept in 1 of 2 pairs"), std::string::npos);
  EXPECT_NE(verdicts[1].reason.find("order kept in 2 of 2 pairs"), std::string::npos);
}

TEST(Verdict, ATimeIsSetBesideWhatTheMachinesDifferBy) {
  const auto reason = [](const std::string& paper, double value, const std::string& unit,
                         const std::string& here) {
    PublishedCell cell = Cell("a", 10, CellKind::kTime, 0.2);
    cell.unit = unit;
    cell.machine = paper;
    MeasuredCell measured = Measured(value);
    measured.machine = here;
    return JudgeAll({cell}, {{"a", measured}})[0].reason;
  };
  const std::string kHere = "Intel Xeon, 16 threads, NVIDIA H200, 4810 GB/s";
  const std::string kOrder = "; no other row to set it in order with";
  EXPECT_EQ(reason("Tesla V100, 900 GB/s", 2, "s", kHere),
            "an absolute time of another machine (Tesla V100, 900 GB/s): 5 times its speed here, "
            "with 5.3 times its memory bandwidth" +
                kOrder);
  EXPECT_EQ(reason("Tesla V100, 900 GB/s", 2, "rows/s", kHere),
            "an absolute time of another machine (Tesla V100, 900 GB/s): 0.2 times its speed here, "
            "with 5.3 times its memory bandwidth" +
                kOrder);
  EXPECT_EQ(reason("2x Xeon, 40 cores", 5000, "rows/s", kHere),
            "an absolute time of another machine (2x Xeon, 40 cores): 500 times its speed here, "
            "with 16 threads beside 40 cores" +
                kOrder);
  // What is not known is not told.
  EXPECT_EQ(reason("Tesla V100, 900 GB/s", 2, "s", "Intel Xeon, 2 threads"),
            "an absolute time of another machine (Tesla V100, 900 GB/s): 5 times its speed here" +
                kOrder);
  EXPECT_EQ(reason("", 2, "s", kHere), "an absolute time of another machine" + kOrder);
}

TEST(Verdict, ReasonsNameTheTolerance) {
  const auto relative = JudgeAll({Cell("a", 1, kAccuracy, 0.15)}, {{"a", Measured(1)}});
  EXPECT_EQ(relative[0].reason, "within 15 % of the paper");
  PublishedCell cell = Cell("a", 1, CellKind::kCount, 2, true);
  cell.unit = "columns";
  EXPECT_EQ(JudgeAll({cell}, {{"a", Measured(1)}})[0].reason, "within 2 columns of the paper");
}

TEST(Verdict, RatioColumnIsUndefinedForAZero) {
  EXPECT_TRUE(std::isnan(JudgeAll({Cell("a", 0, kAccuracy, 0.1)}, {{"a", Measured(1)}})[0].ratio));
}

TEST(Verdict, Names) {
  EXPECT_EQ(Name(VerdictKind::kMatch), "MATCH");
  EXPECT_EQ(Name(VerdictKind::kTrend), "TREND");
  EXPECT_EQ(Name(VerdictKind::kOrderOnly), "ORDER-ONLY");
  EXPECT_EQ(Name(VerdictKind::kMismatch), "MISMATCH");
  EXPECT_EQ(Name(VerdictKind::kFailed), "FAILED");
  EXPECT_EQ(Name(VerdictKind::kDifferentHardware), "DIFFERENT-HW");
  EXPECT_EQ(Name(VerdictKind::kNotRun), "NOT-RUN");
  EXPECT_EQ(Name(VerdictKind::kNoData), "NO-DATA");
}

TEST(Verdict, SmokeJudgesNothingButSaysWhatFailedAndWhatWasNotRun) {
  const std::string small = WhyNotJudged("smoke");
  EXPECT_NE(small, "");
  EXPECT_EQ(WhyNotJudged("quick") + WhyNotJudged("paper"), "");
  MeasuredCell wrong;
  wrong.failed = true;
  const std::vector<PublishedCell> cells = {
      Cell("far", 1, kAccuracy, 0.1),        Cell("near", 1, kAccuracy, 0.1),
      Cell("time", 1, CellKind::kTime, 0.1), Cell("wrong", 1, kAccuracy, 0.1),
      Cell("missing", 1, kAccuracy, 0.1),    Cell("unknown", {}, kAccuracy, 0.1)};
  const auto verdicts = Judge(
      cells,
      [&](const std::string& row, const std::string&) {
        if (row == "wrong") return wrong;
        if (row == "missing") return MeasuredCell{};
        return Measured(row == "far" ? 50 : 1);
      },
      small);
  for (const int i : {0, 1, 2}) {
    EXPECT_EQ(verdicts[static_cast<std::size_t>(i)].kind, VerdictKind::kNotJudged);
    EXPECT_EQ(verdicts[static_cast<std::size_t>(i)].reason, small);
  }
  EXPECT_EQ(verdicts[3].kind, VerdictKind::kFailed);
  EXPECT_EQ(verdicts[4].kind, VerdictKind::kNotRun);
  EXPECT_EQ(verdicts[5].kind, VerdictKind::kNoData);
  EXPECT_EQ(Name(VerdictKind::kNotJudged), "NOT-JUDGED");
}

TEST(Verdict, AnUnsteadyTimeIsJudgedAndMarked) {
  MeasuredCell ratio = Measured(2);
  ratio.unsteady = "other processes took 1.6 of 2 processors";
  const auto verdicts = JudgeAll({Cell("a", 2, CellKind::kRatio, 0.1)}, {{"a", ratio}});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::kMatch);
  EXPECT_EQ(verdicts[0].reason,
            "within 10 % of the paper; not steady: other processes took 1.6 of 2 processors");
}

}  // namespace
}  // namespace retable::harness
