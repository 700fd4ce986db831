#include "harness/report/recording/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/plan/tidy_columns.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

// A row of a tidy CSV by the names of its columns. Older files have no share and no ceiling, and an
// axis may bear the name of a column that stands after the axes.
class TidyRow {
 public:
  TidyRow(const CsvTable& csv, const CsvRow& row) : csv_(csv), row_(row) {}

  std::string Text(const std::string& name) const {
    const auto found = std::find(csv_.header.rbegin(), csv_.header.rend(), name);
    if (found == csv_.header.rend()) return "";
    return row_.fields[static_cast<std::size_t>(csv_.header.rend() - found) - 1];
  }
  double Number(const std::string& name) const {
    const std::string text = Text(name);
    const auto value = ParseNumber(text);
    if (!value && !text.empty()) {
      throw CsvError(csv_.Where(row_) + ": column \"" + name + "\": \"" + text + "\" is no number");
    }
    return value.value_or(std::nan(""));
  }
  std::int64_t Count(const std::string& name) const {
    const double value = Number(name);
    return std::isnan(value) ? 0 : static_cast<std::int64_t>(value);
  }

 private:
  const CsvTable& csv_;
  const CsvRow& row_;
};

RecordedMetric MetricOf(const TidyRow& row) {
  RecordedMetric metric{row.Text("metric"), row.Text("unit"), {}, {}};
  Summary& s = metric.summary;
  s.n = row.Count("n");
  s.failures = row.Count("failures");
  s.median = row.Number("median");
  s.ci_low = row.Number("ci_low");
  s.ci_high = row.Number("ci_high");
  s.mean = row.Number("mean");
  s.std = row.Number("std");
  s.min = row.Number("min");
  s.max = row.Number("max");
  const double share = row.Number("share");
  if (!std::isnan(share)) metric.share = share;
  return metric;
}

// A cell that another run gave to the recording: its configuration as far as the row tells it.
ArtifactCell CellOf(const Artifact& artifact, const TidyRow& row) {
  ArtifactCell cell;
  cell.key = row.Text("key");
  cell.config.experiment = artifact.id;
  cell.config.family = artifact.family;
  cell.config.algorithm = row.Text("algorithm");
  cell.config.label = row.Text("label");
  cell.config.device = row.Text("device");
  cell.config.dataset = row.Text("dataset");
  for (const std::string& axis : artifact.axes) cell.config.axes[axis] = row.Text(axis);
  return cell;
}

void ReadTidy(Artifact& artifact) {
  const std::string path = artifact.Path("tidy.csv");
  if (!fs::exists(path)) {
    throw StoreError(fmt::format(
        "{}: neither the cells of {} are here nor {}: it cannot be judged; copy the folder again, "
        "or measure it in another: build/retable run {} --profile {}",
        artifact.folder, artifact.id, path, artifact.id, artifact.profile));
  }
  std::map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < artifact.cells.size(); ++i) by_key[artifact.cells[i].key] = i;
  const CsvTable csv = ReadCsv(path);
  for (const CsvRow& line : csv.rows) {
    const TidyRow row(csv, line);
    const auto [known, fresh] = by_key.emplace(row.Text("key"), artifact.cells.size());
    if (fresh) artifact.cells.push_back(CellOf(artifact, row));
    ArtifactCell& cell = artifact.cells[known->second];
    const std::string status = row.Text("status");
    if (status == "not_run") {
      cell.not_run = row.Text("reason");
      continue;
    }
    if (status == "missing") continue;
    if (!cell.record) cell.record.emplace();
    cell.record->outcome.status = status;
    cell.record->outcome.reason = row.Text("reason");
    const std::string unsteady = row.Text("unsteady");  // older files do not tell
    if (!unsteady.empty()) cell.record->outcome.facts["unsteady"] = unsteady;
    if (!row.Text("metric").empty()) cell.recorded.push_back(MetricOf(row));
  }
}

void ReadTable(Artifact& artifact) {
  if (!fs::exists(artifact.Path("csv"))) return;
  const CsvTable csv = ReadCsv(artifact.Path("csv"));
  for (const CsvRow& row : csv.rows) {
    for (std::size_t i = 1; i < row.fields.size(); ++i) {
      const std::string& text = row.fields[i];
      if (text.empty() || text == "NOT-RUN" || text == "FAILED") continue;
      RecordedValue& value = artifact.recorded_table[{row.fields[0], csv.header[i]}];
      const auto number = ParseNumber(text);
      if (number) value.value = value.ci_low = value.ci_high = *number;
      if (!number) value.text = text;
    }
  }
}

// The intervals that the table leaves out.
void ReadIntervals(Artifact& artifact) {
  const std::string path = artifact.folder + "/verdicts.csv";
  if (!fs::exists(path)) return;
  const CsvTable csv = ReadCsv(path);
  for (const CsvRow& line : csv.rows) {
    const TidyRow row(csv, line);
    if (row.Text("artifact") != artifact.id) continue;
    const auto found = artifact.recorded_table.find({row.Text("row"), row.Text("column")});
    if (found == artifact.recorded_table.end()) continue;
    if (row.Number("measured") != found->second.value) continue;
    found->second.ci_low = row.Number("ci_low");
    found->second.ci_high = row.Number("ci_high");
    found->second.n = row.Count("n");
  }
}

// Whether a column is declared alike in both; with a pivot one declaration stands for all columns.
bool SameColumn(const TableSpec& then, const TableSpec& today, const std::string& name) {
  if (then.pivot != today.pivot) return false;
  if (!then.pivot.empty()) return then.columns == today.columns;
  return std::any_of(then.columns.begin(), then.columns.end(), [&](const ColumnSpec& column) {
    return column.name == name &&
           std::count(today.columns.begin(), today.columns.end(), column) > 0;
  });
}

}  // namespace

void ReadRecording(Artifact& artifact) {
  ReadTidy(artifact);
  ReadTable(artifact);
  ReadIntervals(artifact);
}

void Redeclare(Artifact& artifact, const Experiment& today) {
  // What was recorded under a column's name is of the column only while it is made as then.
  std::erase_if(artifact.recorded_table, [&](const auto& value) {
    return !SameColumn(artifact.table, today.table, value.first.second);
  });
  artifact.table = today.table;
  artifact.claims = today.claims;
  artifact.paper_file = today.paper_file;
  if (today.table.pivot.empty()) {  // so that a new column is no name that nobody knows
    for (ProfileNames& names : artifact.profiles) {
      names.columns.clear();
      for (const ColumnSpec& column : today.table.columns) names.columns.push_back(column.name);
    }
  }
}

}  // namespace retable::harness
