#include "harness/report/origins/written_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/temporary_folder.hpp"

namespace retable::harness {
namespace {

ArtifactCell OfSamples(const std::string& label, const std::string& dataset,
                       std::vector<double> samples) {
  ArtifactCell cell;
  cell.config.label = label;
  cell.config.dataset = dataset;
  cell.config.device = "cpu";
  cell.config.axes["size"] = std::int64_t{10};
  cell.record.emplace();
  cell.record->outcome.metrics = {{"e", "s", std::move(samples), {}, {}, {}}};
  return cell;
}

// A: two data sets, one failure. B: one data set. C: every sample failed. G: no device.
Artifact ExampleIn(const std::string& folder) {
  Artifact a;
  a.family = "f";
  a.artifact = "t";
  a.folder = folder;
  a.axes = {"size"};
  a.table.rows = "{label} {size}";
  a.cells = {OfSamples("A", "x", {1, 3, std::nan("")}), OfSamples("A", "y", {8, 5}),
             OfSamples("B", "x", {2, 4, 9, 4.5, 3}), OfSamples("C", "x", {std::nan("")}),
             OfSamples("G", "x", {})};
  a.cells.back().record.reset();
  a.cells.back().not_run = "no CUDA device";
  for (const char* s : {"mean", "median", "max", "n", "of y"}) {
    ColumnSpec& column = a.table.columns.emplace_back();
    column.name = column.statistic = s;
    column.metric = "e";
  }
  a.table.columns.back().statistic = "median";
  a.table.columns.back().where["dataset"] = "y";
  ColumnSpec& ratio = a.table.columns.emplace_back();
  ratio.name = "ratio";
  ratio.ratio_of = "max";
  ratio.ratio_over = "n";
  return a;
}

TEST(WrittenTable, IsTheOneThatWasMeasured) {
  const TemporaryFolder folder;
  Artifact artifact = ExampleIn(folder.path().string());
  const Table made = BuildTable(artifact);
  WriteFileAtomically(artifact.Path("csv"), TableCsv(made));
  WriteFileAtomically(artifact.Path("tidy.csv"), TidyCsv(artifact));
  artifact.cells.clear();
  const Table read = ReadWrittenTable(artifact);
  EXPECT_EQ(TableCsv(read), TableCsv(made));
  for (const auto& [name, cell] : made.cells) {
    const TableCell& again = read.cells.at(name);
    EXPECT_EQ(again.has_value, cell.has_value) << name.first << ", " << name.second;
    if (!cell.has_value || name.second == "ratio") continue;
    EXPECT_EQ(again.value, cell.value);
    EXPECT_EQ(again.unit, cell.unit);
    EXPECT_EQ(again.dataset, cell.dataset);
  }
  // The interval of one cell's median is the recorded one, of another value it is not known.
  for (const auto& [row, column] : {std::pair("B 10", "median"), std::pair("A 10", "of y")}) {
    EXPECT_EQ(read.Find(row, column)->ci_low, made.Find(row, column)->ci_low);
    EXPECT_EQ(read.Find(row, column)->ci_high, made.Find(row, column)->ci_high);
  }
  EXPECT_EQ(read.Find("A 10", "median")->ci_low, read.Find("A 10", "median")->value);
  // That of a mean is the normal one, within the samples' range.
  EXPECT_NEAR(read.Find("B 10", "mean")->ci_high, 4.5 + 1.96 * std::sqrt(7.25 / 5), 1e-12);
  EXPECT_NEAR(read.Find("A 10", "mean")->ci_low, 4.25 - 1.96 * std::sqrt(107.0 / 12 / 4), 1e-12);
  EXPECT_EQ(artifact.cells.size(), 5u);
  EXPECT_EQ(artifact.cells.front().config.device, "cpu");
}

}  // namespace
}  // namespace retable::harness
