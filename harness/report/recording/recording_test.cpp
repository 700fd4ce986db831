#include "harness/report/recording/recording.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/record/record.hpp"
#include "harness/report/csv.hpp"
#include "harness/report/results.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "retable-recording-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "f");
  }
  void TearDown() override { fs::remove_all(folder_); }

  ArtifactCell Cell(const std::string& label, const std::string& dataset,
                    std::vector<double> samples, std::vector<std::string> groups = {}) {
    ArtifactCell cell;
    cell.config.algorithm = cell.config.label = label;
    cell.config.dataset = dataset;
    cell.config.device = "cpu";
    cell.config.axes["size"] = std::int64_t{10};
    cell.key = label + dataset;
    cell.record.emplace();
    cell.record->outcome.metrics = {{"e", "1", std::move(samples), std::move(groups), {}, {}}};
    cell.record->outcome.facts["by"] = std::string("hand");
    return cell;
  }

  // A: two data sets, one failure. B: one data set. C: every sample failed. D: a wrong answer. G:
  // no device.
  Artifact Measured() {
    Artifact a;
    a.id = "f/t";
    a.family = "f";
    a.artifact = "t";
    a.folder = folder_.string();
    a.axes = {"size"};
    a.cells = {Cell("A", "x", {1, 3, std::nan("")}, {"u", "v", "u"}),
               Cell("A", "y", {8, 5}, {"v", "v"}), Cell("B", "x", {2, 4, 9, 4.5, 3}),
               Cell("C", "x", {std::nan("")}), Cell("D", "x", {1})};
    a.cells[4].record->outcome.status = "wrong_result";
    a.cells[4].record->outcome.reason = "difference = 1";
    a.cells.push_back(Cell("G", "x", {}));
    a.cells.back().record.reset();
    a.cells.back().not_run = "no CUDA device";
    for (const char* s :
         {"mean", "median", "min", "max", "sum", "std", "n", "failures", "mean_by_dataset"}) {
      ColumnSpec& column = a.table.columns.emplace_back();
      column.name = column.statistic = s;
      column.metric = "e";
    }
    ColumnSpec& group = a.table.columns.emplace_back();
    group.name = "of v";
    group.metric = "e";
    group.group = "v";
    ColumnSpec& fact = a.table.columns.emplace_back();
    fact.name = fact.fact = "by";
    ColumnSpec& ratio = a.table.columns.emplace_back();
    ratio.name = "ratio";
    ratio.ratio_of = "max";
    ratio.ratio_over = "min";
    return a;
  }

  // What a recording without an archive keeps of it.
  Artifact Record(const Artifact& measured) {
    std::ofstream(measured.Path("csv")) << TableCsv(BuildTable(measured));
    std::ofstream(measured.Path("tidy.csv")) << TidyCsv(measured);
    Artifact recorded = measured;
    recorded.recorded = true;
    for (ArtifactCell& cell : recorded.cells) cell.record.reset();
    return recorded;
  }

  fs::path folder_;
};

TEST_F(Recording, GivesTheTableThatWasMeasured) {
  const Artifact measured = Measured();
  Artifact recorded = Record(measured);
  ReadRecording(recorded);
  const Table before = BuildTable(measured), after = BuildTable(recorded);
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(after.columns, before.columns);
  EXPECT_EQ(TableCsv(after), TableCsv(before));
  for (const auto& [name, cell] : before.cells) {
    const TableCell& again = after.cells.at(name);
    const auto where = name.first + ", " + name.second;
    EXPECT_EQ(again.has_value, cell.has_value) << where;
    EXPECT_EQ(again.failed, cell.failed) << where;
    EXPECT_EQ(again.broken, cell.broken) << where;
    EXPECT_EQ(again.not_run, cell.not_run) << where;
    if (cell.has_value) {
      EXPECT_NEAR(again.value, cell.value, 1e-12) << where;
    }
  }
  EXPECT_EQ(after.Find("D", "mean")->reason, "wrong_result: difference = 1");
  // The interval of one cell's median is the recorded one.
  EXPECT_EQ(after.Find("B", "median")->ci_low, before.Find("B", "median")->ci_low);
  EXPECT_EQ(after.Find("B", "median")->n, 5);
  EXPECT_EQ(after.Find("B", "median")->reason, "");
  // That of a mean is the normal one, within the samples' range.
  EXPECT_NEAR(after.Find("B", "mean")->ci_high, 4.5 + 1.96 * std::sqrt(7.25 / 5), 1e-12);
  EXPECT_NEAR(after.Find("A", "mean")->ci_low, 4.25 - 1.96 * std::sqrt(107.0 / 12 / 4), 1e-12);
}

TEST_F(Recording, AnIntervalThatTheTableLeavesOutIsThatOfTheVerdict) {
  Artifact recorded = Record(Measured());
  const double median = BuildTable(Measured()).Find("A", "median")->value;
  std::ofstream(folder_ / "verdicts.csv")
      << "artifact,row,column,measured,ci_low,ci_high,n\n"
      << "f/t,A,median," << median << ",1.5,7.5,4\nf/t,A,of v,99,1,100,3\n";
  ReadRecording(recorded);
  const Table table = BuildTable(recorded);
  EXPECT_EQ(table.Find("A", "median")->ci_low, 1.5);
  EXPECT_EQ(table.Find("A", "median")->ci_high, 7.5);
  EXPECT_EQ(table.Find("A", "median")->n, 4);
  EXPECT_EQ(table.Find("A", "of v")->ci_low, table.Find("A", "of v")->value);  // of another value
}

TEST_F(Recording, NewColumnsAreMadeOfTheTidyRows) {
  Artifact recorded = Record(Measured());
  ReadRecording(recorded);
  Experiment today;
  today.table = recorded.table;
  ColumnSpec& ratio = today.table.columns.emplace_back();
  ratio.name = "mean over min";
  ratio.ratio_of = "mean";
  ratio.ratio_over = "min";
  // What was recorded under the name of a quotient was of another: it is not taken.
  today.table.columns[11].ratio_over = "not here";
  // Nor is what was recorded under the name of a column that is of another contender today.
  today.table.columns[1].where["label"] = "Z";
  recorded.profiles = {{"quick", {}, {"mean"}}};
  Redeclare(recorded, today);
  const Table table = BuildTable(recorded);
  EXPECT_DOUBLE_EQ(table.Find("B", "mean over min")->value, 2.25);
  EXPECT_FALSE(table.Find("B", "ratio")->has_value);
  EXPECT_FALSE(table.Find("A", "median")->has_value);
  EXPECT_EQ(recorded.profiles[0].columns.back(), "mean over min");
}

// The median of two cells is in the recorded table alone, and not of the metric that stands there
// now.
TEST_F(Recording, AColumnOfAnotherMetricIsNotTakenForTheRecordedOne) {
  Artifact recorded = Record(Measured());
  ReadRecording(recorded);
  Experiment today;
  today.table = recorded.table;
  Artifact same = recorded;
  Redeclare(same, today);
  EXPECT_TRUE(BuildTable(same).Find("A", "median")->has_value);
  EXPECT_EQ(BuildTable(same).Find("A", "by")->text, "hand");
  today.table.columns[1].metric = "another";
  today.table.columns[10].where["label"] = "B";
  Redeclare(recorded, today);
  EXPECT_FALSE(BuildTable(recorded).Find("A", "median")->has_value);
  EXPECT_EQ(BuildTable(recorded).Find("A", "by")->text, "");
}

TEST_F(Recording, ACellOfAnotherRunIsTakenFromItsRow) {
  Artifact recorded = Record(Measured());
  recorded.cells.erase(recorded.cells.begin());
  ReadRecording(recorded);
  EXPECT_NEAR(BuildTable(recorded).Find("A", "mean")->value, 4.25, 1e-12);
}

TEST_F(Recording, WithoutItsTidyTableItIsNotJudged) {
  Artifact recorded = Record(Measured());
  fs::remove(recorded.Path("tidy.csv"));
  EXPECT_THROW(ReadRecording(recorded), StoreError);
}

// Our own recorded runs. A change of published cells, claims, layouts or rules is followed by
//   build/retable check --out results/recorded/NAME --rewrite
class RecordedRuns : public Recording {
 protected:
  std::vector<fs::path> Folders() const {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(RETABLE_SOURCE_DIR "/results/recorded")) {
      if (entry.is_directory()) folders.push_back(entry.path());
    }
    return folders;
  }
};

TEST_F(RecordedRuns, AreJudgedByTheCellsClaimsAndRulesOfToday) {
  for (const fs::path& from : Folders()) {
    if (HasArchive(from.string())) {
      for (const auto& found :
           CheckRecording(from.string(), RETABLE_SOURCE_DIR, false).differences) {
        ADD_FAILURE() << from / found << ": build/retable check --recorded "
                      << from.filename().string() << " --rewrite";
      }
      continue;
    }
    const fs::path copy = folder_ / from.filename();
    fs::copy(from, copy, fs::copy_options::recursive);
    WriteResults(copy.string(), RETABLE_SOURCE_DIR);
    for (const auto& file : fs::recursive_directory_iterator(copy)) {
      if (!file.is_regular_file()) continue;
      const fs::path name = fs::relative(file.path(), copy);
      EXPECT_TRUE(Slurp(from / name) == Slurp(file.path()))
          << (from / name).string()
          << " is not what its recording gives today: build/retable check "
          << "--out results/recorded/" << from.filename().string() << " --rewrite";
    }
    for (const auto& file : fs::recursive_directory_iterator(from)) {
      EXPECT_TRUE(fs::exists(copy / fs::relative(file.path(), from))) << file.path();
    }
  }
}

TEST_F(RecordedRuns, EveryClaimThatFailsSaysWhy) {
  for (const fs::path& folder : Folders()) {
    const CsvTable claims = ReadCsv((folder / "claims.csv").string());
    for (const CsvRow& row : claims.rows) {
      if (row.fields[claims.Column("verdict")] != "FAILS") continue;
      EXPECT_FALSE(row.fields[claims.Column("note")].empty())
          << claims.Where(row) << ": " << row.fields[claims.Column("artifact")] << " "
          << row.fields[claims.Column("id")];
    }
  }
}

}  // namespace
}  // namespace retable::harness
