#include "harness/report/table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/plan/tidy_columns.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

const double kNan = std::nan("");

ArtifactCell Cell(const std::string& label, const std::string& dataset, std::vector<double> samples,
                  std::vector<std::string> groups = {}) {
  ArtifactCell cell;
  cell.config.algorithm = label;
  cell.config.label = label;
  cell.config.dataset = dataset;
  cell.config.device = "cpu";
  cell.config.axes["size"] = std::int64_t{10};
  cell.key = label + dataset;
  cell.record.emplace();
  cell.record->outcome.metrics = {{"e", "1", std::move(samples), std::move(groups), {}}};
  cell.record->outcome.facts["bytes"] = std::int64_t{84};
  return cell;
}

Artifact Example(std::vector<ColumnSpec> columns) {
  Artifact a;
  a.id = "f/t";
  a.table.columns = std::move(columns);
  a.axes = {"size"};
  a.cells = {Cell("A", "x", {1, 3, kNan}, {"u", "v", "u"}), Cell("A", "y", {8}, {"v"}),
             Cell("B", "x", {kNan, kNan})};
  ArtifactCell gpu;
  gpu.config.algorithm = gpu.config.label = "G";
  gpu.config.dataset = "x";
  gpu.config.axes["size"] = std::int64_t{10};
  gpu.not_run = "no CUDA device";
  a.cells.push_back(gpu);
  return a;
}

ColumnSpec Column(const std::string& name, const std::string& statistic) {
  ColumnSpec c;
  c.name = name;
  c.metric = "e";
  c.statistic = statistic;
  return c;
}

TEST(BuildTable, PoolsTheSamplesOfARow) {
  const Table t = BuildTable(
      Example({Column("mean", "mean"), Column("median", "median"), Column("min", "min"),
               Column("max", "max"), Column("std", "std"), Column("failures", "failures"),
               Column("n", "n"), Column("by", "mean_by_dataset"), Column("sum", "sum")}));
  EXPECT_EQ(t.rows, (std::vector<std::string>{"A", "B", "G"}));
  EXPECT_DOUBLE_EQ(t.Find("A", "mean")->value, 4);
  EXPECT_DOUBLE_EQ(t.Find("A", "median")->value, 3);
  EXPECT_DOUBLE_EQ(t.Find("A", "min")->value, 1);
  EXPECT_DOUBLE_EQ(t.Find("A", "max")->value, 8);
  EXPECT_DOUBLE_EQ(t.Find("A", "std")->value, std::sqrt(13.0));
  EXPECT_DOUBLE_EQ(t.Find("A", "failures")->value, 1);
  EXPECT_DOUBLE_EQ(t.Find("A", "n")->value, 3);
  EXPECT_DOUBLE_EQ(t.Find("A", "by")->value, 5);  // (2 + 8) / 2
  EXPECT_DOUBLE_EQ(t.Find("A", "sum")->value, 12);
  EXPECT_LE(t.Find("A", "mean")->ci_low, 4);
  EXPECT_GE(t.Find("A", "mean")->ci_high, 4);
}

TEST(BuildTable, SaysWhyThereIsNoValue) {
  const Table t = BuildTable(Example({Column("mean", "mean"), Column("failures", "failures")}));
  EXPECT_TRUE(t.Find("B", "mean")->failed);
  EXPECT_FALSE(t.Find("B", "mean")->has_value);
  EXPECT_DOUBLE_EQ(t.Find("B", "failures")->value, 2);
  EXPECT_TRUE(t.Find("G", "mean")->not_run);
  EXPECT_EQ(t.Find("G", "mean")->reason, "no CUDA device");
  EXPECT_EQ(TableCsv(t), "Estimator,mean,failures\nA,4,1\nB,,2\nG,NOT-RUN,NOT-RUN\n");
}

// What failed is told beside what is left; a wrong answer is not made good by right ones.
TEST(BuildTable, FailuresBehindAValue) {
  ColumnSpec ratio = Column("ratio", "");
  ratio.metric.clear();
  ratio.ratio_of = "mean";
  ratio.ratio_over = "max";
  Artifact a = Example({Column("mean", "mean"), Column("max", "max"), ratio});
  a.cells[1].record->outcome.status = "timeout";
  a.cells[1].record->outcome.reason = "longer than 5 s";
  Table t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "mean")->value, 2);
  EXPECT_EQ(t.Find("A", "mean")->reason, "1 of 2 cells gave no answer");
  EXPECT_EQ(t.Find("A", "ratio")->reason, "1 of 2 cells gave no answer");
  EXPECT_FALSE(t.Find("A", "mean")->broken);
  a.cells[1].record->outcome.status = "wrong_result";
  t = BuildTable(a);
  for (const char* column : {"mean", "max", "ratio"}) {
    EXPECT_FALSE(t.Find("A", column)->has_value);
    EXPECT_TRUE(t.Find("A", column)->broken);
    EXPECT_EQ(t.Find("A", column)->reason, "wrong_result: longer than 5 s");
  }
  EXPECT_NE(TableCsv(t).find("A,FAILED,FAILED,FAILED"), std::string::npos);
  a.cells[0].record->outcome.status = "skipped";
  a.cells[1].record->outcome.status = "not_run";
  EXPECT_TRUE(BuildTable(a).Find("A", "mean")->not_run);
  // A sample that is no number is a failed one; a metric that nobody reported is not.
  EXPECT_TRUE(BuildTable(a).Find("B", "mean")->failed);
  a.table.columns[0].metric = "not reported";
  a.table.columns[1].metric = "not reported";
  a.table.columns[1].statistic = "failures";
  for (const char* column : {"mean", "max"}) {
    EXPECT_FALSE(BuildTable(a).Find("B", column)->failed);
    EXPECT_FALSE(BuildTable(a).Find("B", column)->has_value);  // nor are there 0 failures of it
  }
}

ColumnSpec RatioOf(const std::string& name, const std::string& of, const std::string& over) {
  ColumnSpec c;
  c.name = name;
  c.ratio_of = of;
  c.ratio_over = over;
  return c;
}

// A value from a part of its cells says so, and what is made of it too.
TEST(BuildTable, CellsThatAreMissingBehindAValue) {
  ColumnSpec least;
  least.name = "least";
  least.least_of = {"mean"};
  Artifact a =
      Example({Column("mean", "mean"), Column("n", "n"), RatioOf("ratio", "mean", "n"), least});
  a.cells[1].record.reset();
  Table t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "mean")->value, 2);
  for (const char* column : {"mean", "n", "ratio", "least"}) {
    EXPECT_EQ(t.Find("A", column)->partial, "1 of 2 cells is not measured yet") << column;
    EXPECT_EQ(t.Find("B", column)->partial, "") << column;
    EXPECT_EQ(t.Find("G", column)->partial, "") << column;
  }
  // What no run here can bring leaves the value as it is, with a word where no coverage tells it.
  a.cells[1].not_run = "needs data";
  t = BuildTable(a);
  for (const char* column : {"mean", "n", "ratio", "least"}) {
    EXPECT_EQ(t.Find("A", column)->partial, "") << column;
    EXPECT_EQ(t.Find("A", column)->reason, "1 of 2 cells was not run") << column;
  }
  a.coverage_total = 100;
  EXPECT_EQ(BuildTable(a).Find("A", "mean")->reason, "");
  // The least of two columns, one of which is still to come, is not known yet.
  ColumnSpec x = Column("on x", "mean"), y = Column("on y", "mean");
  x.where["dataset"] = "x";
  y.where["dataset"] = "y";
  least.least_of = {"on x", "on y"};
  a.table.columns = {x, y, least};
  a.cells[1].not_run.clear();
  t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "least")->value, 2);
  EXPECT_EQ(t.Find("A", "least")->partial, "1 of 1 cells is not measured yet");
}

TEST(BuildTable, AWrongAnswerIsNeitherTheLeastNorHiddenByIt) {
  ColumnSpec x = Column("theirs", "max"), y = Column("ours", "max"), least, fact;
  x.where["dataset"] = "x";
  y.where["dataset"] = "y";
  least.name = "best";
  least.least_of = {"theirs", "ours"};
  fact.name = fact.fact = "bytes";
  Artifact a = Example({x, y, least, RatioOf("ratio", "ours", "best"), fact});
  Outcome& theirs = a.cells[0].record->outcome;
  theirs.status = "wrong_result";
  Table t = BuildTable(a);
  for (const char* column : {"best", "ratio", "bytes"}) {
    EXPECT_TRUE(t.Find("A", column)->broken) << column;
    EXPECT_FALSE(t.Find("A", column)->has_value) << column;
  }
  a.cells[1].record->outcome.status = "crash";
  t = BuildTable(a);
  EXPECT_TRUE(t.Find("A", "ratio")->wrong);  // though the part above it crashed
  a.cells[1].record->outcome.status = "ok";
  theirs.status = "timeout";
  theirs.reason = "longer than 5 s";
  t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "ratio")->value, 1);
  EXPECT_EQ(t.Find("A", "ratio")->reason, "without theirs: timeout: longer than 5 s");
  theirs.status = "skipped";
  t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "ratio")->value, 1);
  EXPECT_EQ(t.Find("A", "ratio")->reason, "");
}

TEST(BuildTable, TheIntervalOfAQuotientHoldsEveryQuotientOfItsParts) {
  Artifact a = Example({Column("median", "median"), Column("n", "n"),
                        RatioOf("over n", "median", "n"), RatioOf("over it", "n", "median"),
                        RatioOf("over 0", "n", "failures"), Column("failures", "failures")});
  std::swap(a.table.columns[4], a.table.columns[5]);
  a.cells.resize(1);
  a.cells[0].record->outcome.metrics[0].samples = {0, 4, 5};
  const Table t = BuildTable(a);
  ASSERT_EQ(t.Find("A", "median")->ci_low, 0);
  EXPECT_DOUBLE_EQ(t.Find("A", "over n")->value, 4.0 / 3);
  EXPECT_DOUBLE_EQ(t.Find("A", "over n")->ci_low, 0);
  EXPECT_DOUBLE_EQ(t.Find("A", "over n")->ci_high, 5.0 / 3);
  EXPECT_DOUBLE_EQ(t.Find("A", "over it")->value, 0.75);
  EXPECT_TRUE(std::isinf(t.Find("A", "over it")->ci_low));
  EXPECT_TRUE(std::isinf(t.Find("A", "over it")->ci_high));
  EXPECT_FALSE(t.Find("A", "over 0")->has_value);
  EXPECT_EQ(t.Find("A", "over 0")->reason, "over 0");
}

TEST(BuildTable, AMeanByDatasetTakesTheCellsOfOneTogether) {
  Artifact a = Example({Column("by", "mean_by_dataset")});
  a.cells = {Cell("A", "x", {1}), Cell("A", "x", {2, 3}), Cell("A", "y", {8})};
  const Table t = BuildTable(a);
  EXPECT_DOUBLE_EQ(t.Find("A", "by")->value, 5);  // (2 + 8) / 2
  EXPECT_EQ(t.Find("A", "by")->n, 2);
}

TEST(BuildTable, GroupsConditionsFactsAndRatios) {
  ColumnSpec group = Column("v only", "mean");
  group.group = "v";
  ColumnSpec where = Column("on x", "max");
  where.where["dataset"] = "x";
  ColumnSpec fact;
  fact.name = "bytes";
  fact.fact = "bytes";
  ColumnSpec ratio;
  ratio.name = "ratio";
  ratio.ratio_of = "v only";
  ratio.ratio_over = "on x";
  const Table t = BuildTable(Example({group, where, fact, ratio}));
  EXPECT_DOUBLE_EQ(t.Find("A", "v only")->value, 5.5);
  EXPECT_DOUBLE_EQ(t.Find("A", "on x")->value, 3);
  EXPECT_DOUBLE_EQ(t.Find("A", "bytes")->value, 84);
  EXPECT_DOUBLE_EQ(t.Find("A", "ratio")->value, 5.5 / 3);
  EXPECT_FALSE(t.Find("B", "ratio")->has_value);
}

TEST(BuildTable, ARatioOverAnotherRow) {
  ColumnSpec ratio;
  ratio.name = "over A";
  ratio.ratio_of = ratio.ratio_over = "mean";
  ratio.ratio_row = "A";
  Artifact example = Example({Column("mean", "mean"), ratio});
  example.cells.push_back(example.cells.front());
  example.cells.back().config.label = "C";
  for (Metric& metric : example.cells.back().record->outcome.metrics) metric.samples = {8};
  const Table t = BuildTable(example);
  EXPECT_DOUBLE_EQ(t.Find("C", "over A")->value, 2);
  EXPECT_DOUBLE_EQ(t.Find("A", "over A")->value, 1);
  EXPECT_FALSE(t.Find("B", "over A")->has_value);
  example.table.columns.back().ratio_row = "nowhere";
  EXPECT_EQ(BuildTable(example).Find("C", "over A")->reason,
            "the table has no such row to divide by");
}

TEST(BuildTable, AValueInTwoDigitsWithItsInterval) {
  ColumnSpec words;
  words.name = "in words";
  words.interval_of = "mean";
  Artifact example = Example({Column("mean", "mean"), words});
  for (ArtifactCell& cell : example.cells) {
    if (!cell.record) continue;
    const bool b = cell.config.label == "B";
    for (Metric& metric : cell.record->outcome.metrics) {
      metric.samples = b ? std::vector<double>{114.49} : std::vector<double>{2.345, 2.345};
    }
  }
  const Table t = BuildTable(example);
  EXPECT_EQ(t.Find("A", "in words")->text, "2.3 (2.3 to 2.3)");
  EXPECT_EQ(t.Find("B", "in words")->text, "110 (one sample)");
  EXPECT_EQ(t.Find("G", "in words")->reason, "no CUDA device");
}

// What is not at hand neither wins nor hides the others.
TEST(BuildTable, TheLeastOfSomeColumnsAndItsName) {
  ColumnSpec x = Column("theirs", "max"), y = Column("ours", "max"), least, name;
  x.where["dataset"] = "x";
  y.where["dataset"] = "y";
  least.name = "fastest";
  name.name = "fastest is";
  least.least_of = name.least_of = {"theirs", "ours"};
  name.called = {"the real one", "ours"};
  Artifact example = Example({x, y, least, name});
  Table t = BuildTable(example);
  EXPECT_DOUBLE_EQ(t.Find("A", "fastest")->value, 3);
  EXPECT_EQ(t.Find("A", "fastest is")->text, "the real one");
  EXPECT_TRUE(t.Find("G", "fastest")->not_run);
  EXPECT_EQ(t.Find("G", "fastest")->reason, "no CUDA device");
  std::erase_if(example.cells, [](const ArtifactCell& cell) { return cell.config.dataset == "x"; });
  t = BuildTable(example);
  EXPECT_DOUBLE_EQ(t.Find("A", "fastest")->value, 8);
  EXPECT_EQ(t.Find("A", "fastest is")->text, "ours");
}

TEST(BuildTable, PivotsAnAxisIntoColumns) {
  Artifact a = Example({Column("e", "median")});
  a.table.pivot = "{dataset}";
  const Table t = BuildTable(a);
  EXPECT_EQ(t.columns, (std::vector<std::string>{"x", "y"}));
  EXPECT_DOUBLE_EQ(t.Find("A", "x")->value, 2);
  EXPECT_DOUBLE_EQ(t.Find("A", "y")->value, 8);
  EXPECT_FALSE(t.Find("B", "y")->has_value);
}

TEST(BuildTable, AShareSaysWhyItIsNotThere) {
  Artifact a = Example({Column("share", "share")});
  a.ceilings = {{"cuda", "copy", 2, "GB/s", ""}};
  EXPECT_EQ(BuildTable(a).Find("A", "share")->reason, "the method declares no work");
  a.cells[0].record->outcome.costs = {{"copy", 1e9, false}};
  EXPECT_EQ(BuildTable(a).Find("A", "share")->reason,
            "its ceiling was not measured (retable doctor --measure --out)");
}

TEST(TidyCsv, TheShareIsOfTheTimeAndItsRatesAlone) {
  Artifact a = Example({});
  a.cells.resize(1);
  Outcome& outcome = a.cells[0].record->outcome;
  outcome.metrics = {{"prepare", "s", {9}, {}, {}},
                     {"time", "s", {1}, {}, {}},
                     {"rate", "items/s", {5}, {}, {}},
                     {"error", "1", {0}, {}, {}}};
  outcome.costs = {{"copy", 1e9, false}};
  a.ceilings = {{"cpu, 1 thread", "copy", 2, "GB/s", ""}};
  const CsvTable tidy = ParseCsv(TidyCsv(a), "tidy");
  std::vector<std::string> shares;
  for (const CsvRow& row : tidy.rows) shares.push_back(row.fields[tidy.Column("share")]);
  EXPECT_EQ(shares, (std::vector<std::string>{"", "0.5", "0.5", ""}));
}

TEST(TidyCsv, HasOneRowPerCellAndMetricWithFailuresCounted) {
  const CsvTable tidy = ParseCsv(TidyCsv(Example({})), "tidy");
  ASSERT_EQ(tidy.rows.size(), 4u);
  EXPECT_EQ(tidy.rows[0].fields[tidy.Column("size")], "10");
  EXPECT_EQ(tidy.rows[0].fields[tidy.Column("n")], "2");
  EXPECT_TRUE(IsTidyColumn("n"));
  EXPECT_FALSE(IsTidyColumn("size"));
  EXPECT_EQ(tidy.rows[0].fields[tidy.Column("label")], "A");
  EXPECT_EQ(tidy.rows[0].fields[tidy.Column("failures")], "1");
  EXPECT_EQ(tidy.rows[3].fields[tidy.Column("status")], "not_run");
  EXPECT_EQ(tidy.rows[3].fields[tidy.Column("reason")], "no CUDA device");
}

TEST(SamplesCsv, HasEverySampleAndKeepsToItsLimit) {
  const Artifact a = Example({});
  EXPECT_EQ(ParseCsv(SamplesCsv(a, 100), "s").rows.size(), 6u);
  EXPECT_EQ(SamplesCsv(a, 3), "");
}

// A figure of one metric is drawn although the others' samples are too many.
TEST(SamplesCsv, BeyondItsLimitHasTheMetricOfTheFigure) {
  Artifact a = Example({});
  a.cells[0].record->outcome.metrics.push_back({"time", "s", {1, 2}, {}, {}});
  a.figure_metric = "time";
  EXPECT_EQ(ParseCsv(SamplesCsv(a, 8), "s").rows.size(), 8u);
  EXPECT_EQ(ParseCsv(SamplesCsv(a, 7), "s").rows.size(), 2u);
  EXPECT_EQ(SamplesCsv(a, 1), "");
  a.figure_metric = "none";
  EXPECT_EQ(SamplesCsv(a, 7), "");
}

TEST(CoverageText, CountsTheFullestLabelOfAllAndOfARow) {
  Artifact a = Example({});
  EXPECT_EQ(CoverageText(a), "2 data sets");
  a.coverage_total = 14072;
  a.coverage_unit = "columns";
  EXPECT_EQ(CoverageText(a), "4 of 14072 columns on 2 data sets");
  const Table t = BuildTable(a);
  EXPECT_EQ(t.coverage.at("A"), "4 of 14072 columns on 2 data sets");
  EXPECT_EQ(t.coverage.at("B"), "2 of 14072 columns on 1 data set");
}

TEST(BuildTable, AnUnsteadyTimeMarksWhatIsMadeOfIt) {
  ColumnSpec time = Column("time", "median"), ratio = Column("ratio", "");
  time.metric = "t";
  ratio.metric.clear();
  ratio.ratio_of = "mean";
  ratio.ratio_over = "time";
  Artifact a = Example({Column("mean", "mean"), time, ratio});
  for (ArtifactCell& cell : a.cells) {
    if (cell.record) cell.record->outcome.metrics.push_back({"t", "s", {1, 2}, {}, {}});
  }
  a.cells[1].record->outcome.facts["unsteady"] = std::string("busy");
  const Table t = BuildTable(a);
  EXPECT_EQ(t.Find("A", "mean")->unsteady, "");
  EXPECT_EQ(t.Find("A", "time")->unsteady, "busy");
  EXPECT_EQ(t.Find("A", "ratio")->unsteady, "busy");
  EXPECT_EQ(t.Find("B", "time")->unsteady, "");
  EXPECT_NE(TidyCsv(a).find(",busy\n"), std::string::npos);
}

}  // namespace
}  // namespace retable::harness
