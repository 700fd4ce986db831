#include "harness/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "harness/plan/tidy_columns.hpp"
#include "harness/report/csv.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/steadiness.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

constexpr std::uint64_t kBootstrapSeed = 20210301;

bool Matches(const CellConfig& cell, const std::map<std::string, std::string>& where) {
  return std::ranges::all_of(where, [&](const auto& condition) {
    return ExpandTemplate("{" + condition.first + "}", cell) == condition.second;
  });
}

struct DatasetMean {
  std::string dataset;
  double mean = 0, n = 0;
};

// The samples of one metric over some cells, and their means by data set.
struct Pool {
  std::vector<double> samples;
  bool measured = false;  // a cell has the metric
  std::vector<DatasetMean> datasets;
  std::string unit;
  std::string unsteady;  // why the first of its times that is not steady is not
};

// Takes the mean of n samples into that of their data set, of which a row may have several cells.
void AddToDataset(Pool& pool, const std::string& dataset, double mean, double n) {
  if (n == 0) return;
  for (DatasetMean& known : pool.datasets) {
    if (known.dataset != dataset) continue;
    known.n += n;
    known.mean += (mean - known.mean) * n / known.n;
    return;
  }
  pool.datasets.push_back({dataset, mean, n});
}

std::vector<double> DatasetMeans(const Pool& pool) {
  std::vector<double> means;
  for (const DatasetMean& one : pool.datasets) means.push_back(one.mean);
  return means;
}

Pool Gather(const std::vector<const ArtifactCell*>& cells, const ColumnSpec& column) {
  Pool pool;
  for (const ArtifactCell* cell : cells) {
    if (!cell->ok()) continue;
    const Metric* metric = FindMetric(cell->record->outcome, column.metric);
    if (!metric) continue;
    pool.unit = metric->unit;
    pool.measured = true;
    if (pool.unsteady.empty()) pool.unsteady = WhyUnsteady(cell->record->outcome, metric->unit);
    double sum = 0, n = 0;
    for (std::size_t i = 0; i < metric->samples.size(); ++i) {
      const bool wanted =
          column.group.empty() || (i < metric->groups.size() && metric->groups[i] == column.group);
      if (!wanted) continue;
      pool.samples.push_back(metric->samples[i]);
      if (std::isnan(metric->samples[i])) continue;
      sum += metric->samples[i];
      ++n;
    }
    AddToDataset(pool, cell->config.dataset, sum / n, n);
  }
  return pool;
}

TableCell Exact(double value, std::int64_t n) {
  TableCell cell;
  cell.has_value = !std::isnan(value);
  cell.value = cell.ci_low = cell.ci_high = value;
  cell.n = n;
  return cell;
}

TableCell FromInterval(const Interval& interval, std::int64_t n) {
  TableCell cell = Exact(interval.estimate, n);
  cell.ci_low = interval.low;
  cell.ci_high = interval.high;
  return cell;
}

TableCell Statistic(const Pool& pool, const std::string& statistic) {
  if (!pool.measured) {
    TableCell none;
    none.reason = "this metric was not measured";
    return none;
  }
  std::vector<double> numbers;
  for (double s : pool.samples) {
    if (!std::isnan(s)) numbers.push_back(s);
  }
  const auto n = static_cast<std::int64_t>(numbers.size());
  const auto total = static_cast<std::int64_t>(pool.samples.size());
  TableCell cell;
  if (statistic == "failures") {
    cell = Exact(static_cast<double>(total - n), total);
  } else if (statistic == "n") {
    cell = Exact(static_cast<double>(n), n);
  } else if (total == 0) {
    cell.reason = "no sample of this kind";
  } else if (numbers.empty()) {
    cell.reason = "all samples failed";
    cell.failed = true;
  } else if (statistic == "mean") {
    cell = FromInterval(MeanInterval(numbers, kBootstrapSeed), n);
  } else if (statistic == "mean_by_dataset") {
    cell = FromInterval(MeanInterval(DatasetMeans(pool), kBootstrapSeed),
                        static_cast<std::int64_t>(pool.datasets.size()));
  } else if (statistic == "median") {
    cell = FromInterval(MedianInterval(numbers, kBootstrapSeed), n);
  } else if (statistic == "min") {
    cell = Exact(*std::ranges::min_element(numbers), n);
  } else if (statistic == "max") {
    cell = Exact(*std::ranges::max_element(numbers), n);
  } else if (statistic == "sum") {
    cell = Exact(std::accumulate(numbers.begin(), numbers.end(), 0.0), n);
  } else if (statistic == "std") {
    const double mean =
        std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(n);
    double square = 0;
    for (double x : numbers) square += (x - mean) * (x - mean);
    cell = Exact(n > 1 ? std::sqrt(square / static_cast<double>(n - 1)) : std::nan(""), n);
    if (n < 2) cell.reason = "one sample has no spread";
  }
  cell.unit = pool.unit;
  return cell;
}

std::ptrdiff_t CountOf(const std::vector<const ArtifactCell*>& cells, const char* status) {
  return std::ranges::count_if(cells,
                               [&](const ArtifactCell* cell) { return cell->status() == status; });
}

// "3 of 4 cells are not measured yet"; empty where all are, or never will be.
std::string Unmeasured(const std::vector<const ArtifactCell*>& cells) {
  const auto missing = CountOf(cells, "missing");
  return missing == 0 ? ""
                      : fmt::format("{} of {} cells {} not measured yet", missing, cells.size(),
                                    missing == 1 ? "is" : "are");
}

// Both reasons, once where they are the same.
std::string Joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  return b.empty() ? a : a + "; " + b;
}

// Why a row has no value: the commonest reason among its cells; among the broken ones, if any is.
TableCell Absent(const std::vector<const ArtifactCell*>& cells) {
  TableCell absent;
  std::map<std::string, int> reasons;
  absent.broken = std::ranges::any_of(cells, std::mem_fn(&ArtifactCell::broken));
  absent.wrong = CountOf(cells, "wrong_result") > 0;
  absent.partial = Unmeasured(cells);
  for (const ArtifactCell* cell : cells) {
    if (cell->broken() != absent.broken) continue;
    const std::string status = cell->status();
    ++reasons[status == "not_run" ? cell->reason() : status + ": " + cell->reason()];
  }
  int most = 0;
  for (const auto& [reason, count] : reasons) {
    if (count > most) {
      most = count;
      absent.reason = reason;
    }
  }
  if (cells.empty()) absent.reason = "no such cell in this profile";
  absent.unplanned = cells.empty();
  absent.not_run = !absent.broken;
  return absent;
}

TableCell Fact(const std::vector<const ArtifactCell*>& cells, const std::string& name) {
  for (const ArtifactCell* cell : cells) {
    if (!cell->ok()) continue;
    const auto fact = cell->record->outcome.facts.find(name);
    if (fact == cell->record->outcome.facts.end()) continue;
    TableCell result;
    if (const auto* text = std::get_if<std::string>(&fact->second)) {
      result.text = *text;
      return result;
    }
    if (const auto* whole = std::get_if<std::int64_t>(&fact->second)) {
      return Exact(static_cast<double>(*whole), 1);
    }
    if (const auto* real = std::get_if<double>(&fact->second)) return Exact(*real, 1);
    result.text = std::get<bool>(fact->second) ? "yes" : "no";
    return result;
  }
  TableCell none = Absent(cells);
  if (std::ranges::any_of(cells, [](auto* cell) { return cell->ok(); })) {
    none.reason = "the method does not report it";
    none.not_run = none.broken = false;
  }
  return none;
}

// The median roofline fraction over the row's cells.
TableCell RooflineCell(const std::vector<const ArtifactCell*>& cells,
                       const std::vector<Ceiling>& ceilings) {
  std::vector<double> fractions;
  for (const ArtifactCell* cell : cells) {
    if (!cell->ok()) continue;
    const auto fraction = RooflineFractionOf(cell->record->outcome, cell->config.device, ceilings);
    if (fraction) fractions.push_back(fraction->value);
  }
  TableCell cell;
  cell.unit = "of the ceiling";
  if (fractions.empty()) {
    const bool work = std::ranges::any_of(
        cells, [](const ArtifactCell* c) { return c->ok() && !c->record->outcome.costs.empty(); });
    cell.reason = ceilings.empty() || work
                      ? "its ceiling was not measured (retable doctor --measure --out)"
                      : "the method declares no work";
    return cell;
  }
  const auto n = static_cast<std::int64_t>(fractions.size());
  return n == 1 ? Exact(fractions.front(), 1)
                : FromInterval(MedianInterval(fractions, kBootstrapSeed), n);
}

TableCell MakeCell(const std::vector<const ArtifactCell*>& row, const ColumnSpec& column,
                   const Artifact& artifact) {
  std::vector<const ArtifactCell*> cells;
  for (const ArtifactCell* cell : row) {
    if (Matches(cell->config, column.where)) cells.push_back(cell);
  }
  // One wrong answer among the cells behind a value is not made good by the others.
  if (CountOf(cells, "wrong_result") > 0) return Absent(cells);
  if (!column.fact.empty()) return Fact(cells, column.fact);
  if (CountOf(cells, "ok") == 0) return Absent(cells);
  TableCell cell;
  if (column.statistic == "share") {
    cell = RooflineCell(cells, artifact.ceilings);
  } else {
    const Pool pool = Gather(cells, column);
    cell = Statistic(pool, column.statistic);
    if (cell.has_value && column.statistic != "n" && column.statistic != "failures") {
      cell.unsteady = pool.unsteady;
    }
  }
  cell.partial = Unmeasured(cells);
  if (!cell.has_value) return cell;
  const auto broken = std::ranges::count_if(cells, std::mem_fn(&ArtifactCell::broken));
  const auto not_run = CountOf(cells, "not_run");
  if (broken > 0) cell.reason = fmt::format("{} of {} cells gave no answer", broken, cells.size());
  if (not_run > 0 && artifact.coverage_total == 0) {  // else the coverage tells
    cell.reason = Joined(cell.reason, fmt::format("{} of {} cells {} not run", not_run,
                                                  cells.size(), not_run == 1 ? "was" : "were"));
  }
  return cell;
}

// A value without an interval stands for itself.
Interval Ends(const TableCell& cell) {
  return {cell.value, std::isnan(cell.ci_low) ? cell.value : cell.ci_low,
          std::isnan(cell.ci_high) ? cell.value : cell.ci_high, IntervalMethod::kNone};
}

// Conservative: the interval of a quotient from the ends of both; unbounded over one that holds 0.
Interval Quotient(const Interval& a, const Interval& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Interval ratio{a.estimate / b.estimate, -kInfinity, kInfinity, IntervalMethod::kNone};
  if (b.low > 0 || b.high < 0) {
    std::tie(ratio.low, ratio.high) =
        std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  }
  return ratio;
}

// Why a quotient has no value: because of the part that has none, a wrong one first, then a broken
// one.
const TableCell* Missing(const TableCell* a, const TableCell* b) {
  const auto rank = [](const TableCell* part) {
    if (part == nullptr) return 1;
    return part->has_value ? 0 : part->wrong ? 3 : part->broken ? 2 : 1;
  };
  return rank(a) >= rank(b) ? a : b;
}

TableCell NoRatio(const TableCell* a, const TableCell* b) {
  const TableCell* missing = Missing(a, b);
  TableCell ratio;
  ratio.reason = missing ? "over 0" : "the table has no such row to divide by";
  if (!missing || missing->has_value) return ratio;
  ratio = *missing;
  ratio.text.clear();
  return ratio;
}

TableCell Ratio(const TableCell* a, const TableCell* b) {
  if (!a || !b || !a->has_value || !b->has_value || b->value == 0) return NoRatio(a, b);
  TableCell ratio = FromInterval(Quotient(Ends(*a), Ends(*b)), std::min(a->n, b->n));
  ratio.unit = "x";
  ratio.unsteady = a->unsteady.empty() ? b->unsteady : a->unsteady;
  ratio.reason = Joined(a->reason, b->reason);
  ratio.partial = Joined(a->partial, b->partial);
  return ratio;
}

// The least of some columns of a row, or what that column is called. One without a value is left
// out, but for a wrong answer: it may have been the least.
TableCell Least(const Table& table, const std::string& row, const ColumnSpec& column) {
  const TableCell* least = nullptr;
  std::string called, without, partial;
  TableCell absent;
  for (std::size_t i = 0; i < column.least_of.size(); ++i) {
    const TableCell* cell = table.Find(row, column.least_of[i]);
    if (cell == nullptr) continue;
    if (cell->wrong) return *cell;
    partial = Joined(partial, cell->partial);
    if (!cell->has_value) {
      if (cell->broken) {
        without = Joined(without, fmt::format("without {}: {}", column.least_of[i], cell->reason));
      }
      if (absent.reason.empty() || (cell->broken && !absent.broken)) absent = *cell;
      continue;
    }
    if (least != nullptr && least->value <= cell->value) continue;
    least = cell;
    if (!column.called.empty()) called = column.called[i];
  }
  if (least == nullptr) return absent;
  TableCell cell;
  cell.text = called;
  if (called.empty()) cell = *least;
  cell.reason = Joined(cell.reason, without);
  cell.partial = partial;
  return cell;
}

std::string TwoDigits(double value) {
  const int places = value == 0 ? 0 : 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double unit = std::pow(10, places);
  return fmt::format("{:.{}f}", std::round(value * unit) / unit, std::max(0, places));
}

// A value with its interval in words; a single sample has none.
TableCell InWords(const TableCell* of) {
  if (of == nullptr || !of->has_value) return of == nullptr ? TableCell{} : *of;
  TableCell cell;
  cell.text = of->n == 1 ? TwoDigits(of->value) + " (one sample)"
              : std::isinf(of->ci_high)
                  ? TwoDigits(of->value) + " (unbounded)"
                  : fmt::format("{} ({} to {})", TwoDigits(of->value), TwoDigits(of->ci_low),
                                TwoDigits(of->ci_high));
  return cell;
}

// One value of a row: measured, a quotient of other columns, the least of them, or one in words.
TableCell CellOf(const Artifact& artifact, const Table& table, const std::string& row,
                 const std::vector<const ArtifactCell*>& cells, const ColumnSpec& column) {
  if (!column.least_of.empty()) return Least(table, row, column);
  if (!column.interval_of.empty()) return InWords(table.Find(row, column.interval_of));
  if (column.ratio_of.empty()) return MakeCell(cells, column, artifact);
  const std::string over = column.ratio_row.empty() || cells.empty()
                               ? row
                               : ExpandTemplate(column.ratio_row, cells.front()->config);
  return Ratio(table.Find(row, column.ratio_of), table.Find(over, column.ratio_over));
}

// The data set of a row, where it has a single one.
std::string OneDataset(const std::vector<const ArtifactCell*>& cells) {
  const bool one = std::ranges::all_of(cells, [&](const ArtifactCell* cell) {
    return cell->config.dataset == cells.front()->config.dataset;
  });
  return one && !cells.empty() ? cells.front()->config.dataset : "";
}

// With a pivot every distinct expansion of it is a column of the one declared metric.
std::vector<ColumnSpec> Columns(const Artifact& artifact) {
  if (artifact.table.pivot.empty()) return artifact.table.columns;
  std::vector<ColumnSpec> columns;
  std::set<std::string> seen;
  const ColumnSpec base =
      artifact.table.columns.empty() ? ColumnSpec{} : artifact.table.columns.front();
  for (const ArtifactCell& cell : artifact.cells) {
    const std::string name = ExpandTemplate(artifact.table.pivot, cell.config);
    if (!seen.insert(name).second) continue;
    ColumnSpec column = base;
    column.name = name;
    columns.push_back(column);
  }
  return columns;
}

// Samples of the first metric of a cell, failed ones too.
std::int64_t SamplesOf(const ArtifactCell& cell) {
  const std::vector<Metric>& metrics = cell.record->outcome.metrics;
  return metrics.empty() ? 0 : static_cast<std::int64_t>(metrics.front().samples.size());
}

// How much of the work's data is behind some cells: that of the label that has most.
std::string CoverageOf(const Artifact& artifact, const std::vector<const ArtifactCell*>& cells) {
  std::map<std::string, std::int64_t> samples;
  std::map<std::string, std::set<std::string>> datasets;
  for (const ArtifactCell* cell : cells) {
    if (!cell->ok()) continue;
    samples[cell->config.label] += SamplesOf(*cell);
    datasets[cell->config.label].insert(cell->config.dataset);
  }
  std::int64_t most = 0;
  std::size_t sets = 0;
  for (const auto& [label, count] : samples) {
    if (count <= most) continue;
    most = count;
    sets = datasets[label].size();
  }
  if (artifact.coverage_total > 0) {
    return fmt::format("{} of {} {} on {} data set{}", most, artifact.coverage_total,
                       artifact.coverage_unit, sets, sets == 1 ? "" : "s");
  }
  return fmt::format("{} data set{}", sets, sets == 1 ? "" : "s");
}

}  // namespace

const TableCell* Table::Find(const std::string& row, const std::string& column) const {
  const auto found = cells.find({row, column});
  return found == cells.end() ? nullptr : &found->second;
}

Table BuildTable(const Artifact& artifact) {
  Table table;
  table.row_header = artifact.table.row_header;
  std::map<std::string, std::vector<const ArtifactCell*>> by_row;
  for (const ArtifactCell& cell : artifact.cells) {
    const std::string row = ExpandTemplate(artifact.table.rows, cell.config);
    auto& members = by_row[row];
    if (members.empty()) table.rows.push_back(row);
    members.push_back(&cell);
  }
  const auto columns = Columns(artifact);
  for (const auto& [row, cells] : by_row) table.coverage[row] = CoverageOf(artifact, cells);
  for (const ColumnSpec& column : columns) {
    table.columns.push_back(column.name);
    for (const std::string& row : table.rows) {
      std::vector<const ArtifactCell*> cells = by_row[row];
      const std::string dataset = OneDataset(cells);
      if (!artifact.table.pivot.empty()) {
        std::erase_if(cells, [&](const ArtifactCell* cell) {
          return ExpandTemplate(artifact.table.pivot, cell->config) != column.name;
        });
      }
      TableCell& cell = table.cells[{row, column.name}];
      cell = CellOf(artifact, table, row, cells, column);
      cell.dataset = dataset;
    }
  }
  return table;
}

std::string TableCsv(const Table& table) {
  std::ostringstream text;
  CsvWriter csv(text);
  csv.Field(table.row_header);
  for (const auto& column : table.columns) csv.Field(column);
  csv.EndRow();
  for (const auto& row : table.rows) {
    csv.Field(row);
    for (const auto& column : table.columns) {
      const TableCell* cell = table.Find(row, column);
      if (cell->has_value) {
        csv.Field(cell->value);
      } else {
        const char* why = cell->broken ? "FAILED" : cell->not_run ? "NOT-RUN" : "";
        csv.Field(!cell->text.empty() ? cell->text : why);
      }
    }
    csv.EndRow();
  }
  return text.str();
}

namespace {

std::string AxisText(const CellConfig& cell, const std::string& axis) {
  const auto found = cell.axes.find(axis);
  return found == cell.axes.end() ? "" : ValueText(found->second);
}

void TidyStart(CsvWriter& csv, const Artifact& artifact, const ArtifactCell& cell) {
  csv.Field(artifact.id).Field(cell.config.algorithm).Field(cell.config.label);
  csv.Field(cell.config.device).Field(cell.config.dataset);
  for (const auto& axis : artifact.axes) csv.Field(AxisText(cell.config, axis));
}

void TidyMetric(CsvWriter& csv, const Artifact& artifact, const ArtifactCell& cell,
                const Metric& metric) {
  const Summary s = Summarise(metric.samples, kBootstrapSeed);
  TidyStart(csv, artifact, cell);
  csv.Field(metric.name).Field(metric.unit).Field(cell.status()).Field(s.n);
  csv.Field(s.median).Field(s.ci_low).Field(s.ci_high).Field(s.mean).Field(s.std);
  csv.Field(s.min).Field(s.max).Field(s.failures).Field(cell.reason()).Field(cell.key);
  // The fraction of a rate is that of the time it was made from; other times (of a part, of
  // preparing) have none.
  const Metric* timed = TimeOf(cell.record->outcome);
  std::optional<RooflineFraction> fraction;
  if (timed != nullptr && (metric.name == timed->name || IsRate(metric.unit))) {
    fraction = RooflineFractionOf(cell.record->outcome, cell.config.device, artifact.ceilings);
  }
  if (fraction) {
    csv.Field(fraction->value).Field(fraction->ceiling);
  } else {
    csv.Field("").Field("");
  }
  csv.Field(WhyUnsteady(cell.record->outcome, metric.unit));
  csv.EndRow();
}

}  // namespace

std::string TidyCsv(const Artifact& artifact) {
  std::ostringstream text;
  CsvWriter csv(text);
  std::vector<std::string> header(kTidyColumnsBeforeAxes.begin(), kTidyColumnsBeforeAxes.end());
  header.insert(header.end(), artifact.axes.begin(), artifact.axes.end());
  header.insert(header.end(), kTidyColumnsAfterAxes.begin(), kTidyColumnsAfterAxes.end());
  csv.Row(header);
  for (const ArtifactCell& cell : artifact.cells) {
    if (cell.record && !cell.record->outcome.metrics.empty()) {
      for (const Metric& metric : cell.record->outcome.metrics) {
        TidyMetric(csv, artifact, cell, metric);
      }
      continue;
    }
    TidyStart(csv, artifact, cell);
    csv.Field("").Field("").Field(cell.status()).Field(std::int64_t{0});
    for (int i = 0; i < 8; ++i) csv.Field("");
    csv.Field(cell.reason()).Field(cell.key).Field("").Field("").Field("");
    csv.EndRow();
  }
  return text.str();
}

std::string SamplesCsv(const Artifact& artifact, std::size_t limit) {
  std::size_t total = 0, drawn = 0;
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.ok()) continue;
    for (const Metric& metric : cell.record->outcome.metrics) {
      total += metric.samples.size();
      if (metric.name == artifact.figure_metric) drawn += metric.samples.size();
    }
  }
  const bool all = total <= limit;
  if (total == 0 || (!all && (drawn == 0 || drawn > limit))) return "";
  std::ostringstream text;
  CsvWriter csv(text);
  std::vector<std::string> header = {"label", "algorithm", "device", "dataset"};
  header.insert(header.end(), artifact.axes.begin(), artifact.axes.end());
  for (const char* name : {"metric", "unit", "group", "item", "value"}) header.emplace_back(name);
  csv.Row(header);
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.ok()) continue;
    for (const Metric& metric : cell.record->outcome.metrics) {
      if (!all && metric.name != artifact.figure_metric) continue;
      for (std::size_t i = 0; i < metric.samples.size(); ++i) {
        csv.Field(cell.config.label).Field(cell.config.algorithm).Field(cell.config.device);
        csv.Field(cell.config.dataset);
        for (const auto& axis : artifact.axes) csv.Field(AxisText(cell.config, axis));
        csv.Field(metric.name).Field(metric.unit);
        csv.Field(i < metric.groups.size() ? metric.groups[i] : "");
        csv.Field(i < metric.items.size() ? metric.items[i] : "");
        csv.Field(metric.samples[i]);
        csv.EndRow();
      }
    }
  }
  return text.str();
}

std::string CurvesCsv(const Artifact& artifact) {
  std::ostringstream text;
  CsvWriter csv(text);
  csv.Row({"label", "dataset", "curve", "x", "y"});
  bool any = false;
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.ok()) continue;
    for (const Curve& curve : cell.record->outcome.curves) {
      for (std::size_t i = 0; i < curve.x.size() && i < curve.y.size(); ++i) {
        any = true;
        csv.Field(cell.config.label).Field(cell.config.dataset).Field(curve.name);
        csv.Field(curve.x[i]).Field(curve.y[i]);
        csv.EndRow();
      }
    }
  }
  return any ? text.str() : "";
}

std::string CoverageText(const Artifact& artifact) {
  std::vector<const ArtifactCell*> cells;
  for (const ArtifactCell& cell : artifact.cells) cells.push_back(&cell);
  return CoverageOf(artifact, cells);
}

}  // namespace retable::harness
