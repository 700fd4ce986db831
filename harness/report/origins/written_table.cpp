#include "harness/report/origins/written_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/csv.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

// A row of the tidy CSV: a cell, and a metric of it; none where it gave no answer.
struct TidyRow {
  ArtifactCell cell;
  std::string metric, unit;
  Summary summary;
};

using TidyRows = std::map<std::string, std::vector<TidyRow>>;  // by the row of the table

TidyRows ReadTidy(const Artifact& artifact) {
  const CsvTable csv = ReadCsv(artifact.Path("tidy.csv"));
  TidyRows rows;
  for (const CsvRow& line : csv.rows) {
    // Of older files an axis may bear the name of a column that stands after the axes.
    const auto text = [&](const std::string& name) -> std::string {
      const auto found = std::find(csv.header.rbegin(), csv.header.rend(), name);
      if (found == csv.header.rend()) return "";
      return line.fields[static_cast<std::size_t>(csv.header.rend() - found) - 1];
    };
    const auto number = [&](const char* name) {
      return ParseNumber(text(name)).value_or(std::nan(""));
    };
    TidyRow row;
    CellConfig& config = row.cell.config;
    config.experiment = artifact.id;
    config.family = artifact.family;
    config.algorithm = text("algorithm");
    config.label = text("label");
    config.device = text("device");
    config.dataset = text("dataset");
    for (const std::string& axis : artifact.axes) config.axes[axis] = text(axis);
    const std::string status = text("status");
    if (status != "not_run" && status != "missing") row.cell.record.emplace();
    if (status == "ok") row.metric = text("metric");
    row.unit = text("unit");
    Summary& s = row.summary;
    s.n = static_cast<std::int64_t>(ParseNumber(text("n")).value_or(0));
    s.median = number("median");
    s.ci_low = number("ci_low");
    s.ci_high = number("ci_high");
    s.mean = number("mean");
    s.std = number("std");
    s.min = number("min");
    s.max = number("max");
    rows[ExpandTemplate(artifact.table.rows, config)].push_back(std::move(row));
  }
  return rows;
}

// Whether a column is made of what a tidy row has.
bool IsBehind(const TidyRow& row, const TableSpec& table, const ColumnSpec& column,
              const std::string& name) {
  const CellConfig& config = row.cell.config;
  return !row.metric.empty() && row.metric == column.metric &&
         (table.pivot.empty() || ExpandTemplate(table.pivot, config) == name) &&
         std::ranges::all_of(column.where, [&](const auto& condition) {
           return ExpandTemplate("{" + condition.first + "}", config) == condition.second;
         });
}

// The interval mean +- 1.96 std / sqrt(n) of the samples of several cells.
void AddMeanInterval(const std::vector<Summary>& parts, TableCell& cell) {
  double n = 0, squares = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Summary& part : parts) {
    if (part.n == 0) continue;
    const auto count = static_cast<double>(part.n);
    n += count;
    squares += count * (part.mean - cell.value) * (part.mean - cell.value);
    if (part.n > 1) squares += (count - 1) * part.std * part.std;
    least = std::min(least, part.min);
    most = std::max(most, part.max);
  }
  if (n < 2) return;
  const double half = 1.96 * std::sqrt(squares / (n - 1) / n);
  cell.ci_low = std::max(least, cell.value - half);
  cell.ci_high = std::min(most, cell.value + half);
}

void AddOrigin(const std::vector<TidyRow>& tidy, const TableSpec& table, const std::string& name,
               TableCell& cell) {
  const auto column = std::ranges::find_if(table.columns, [&](const ColumnSpec& one) {
    return !table.pivot.empty() || one.name == name;
  });
  std::vector<Summary> parts;
  for (const TidyRow& one : tidy) {
    const std::string& dataset = one.cell.config.dataset;
    cell.dataset = &one == &tidy.front() || cell.dataset == dataset ? dataset : "";
    if (column == table.columns.end() || !IsBehind(one, table, *column, name)) continue;
    parts.push_back(one.summary);
    cell.unit = one.unit;
  }
  if (parts.empty() || !column->group.empty()) return;
  if (column->statistic == "mean") AddMeanInterval(parts, cell);
  if (column->statistic == "median" && parts.size() == 1) {
    cell.ci_low = parts.front().ci_low;
    cell.ci_high = parts.front().ci_high;
  }
}

}  // namespace

Table ReadWrittenTable(Artifact& artifact) {
  TidyRows tidy = ReadTidy(artifact);
  const CsvTable csv = ReadCsv(artifact.Path("csv"));
  Table table;
  table.row_header = csv.header.front();
  table.columns.assign(csv.header.begin() + 1, csv.header.end());
  for (const CsvRow& line : csv.rows) {
    const std::string& row = table.rows.emplace_back(line.fields.front());
    for (std::size_t i = 1; i < line.fields.size(); ++i) {
      TableCell& cell = table.cells[{row, csv.header[i]}];
      const auto value = ParseNumber(line.fields[i]);
      cell.has_value = value.has_value();
      if (!value) cell.text = line.fields[i];
      if (!value) continue;
      cell.value = cell.ci_low = cell.ci_high = *value;
      AddOrigin(tidy[row], artifact.table, csv.header[i], cell);
    }
  }
  artifact.cells.clear();
  for (const auto& [name, rows] : tidy) {
    for (const TidyRow& row : rows) artifact.cells.push_back(row.cell);
  }
  return table;
}

}  // namespace retable::harness
