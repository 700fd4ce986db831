#include "harness/report/paper_cells.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <set>

#include "base/text/ascii.hpp"
#include "base/text/suggest.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

const std::vector<std::string> kKinds = {"accuracy", "ratio", "count", "time", "bound", "setting"};
const std::vector<std::string> kColumns = {"row",   "column",    "value", "unit",
                                           "kind",  "tolerance", "group", "page",
                                           "table", "machine",   "note"};
constexpr CellKind kOrder[] = {CellKind::kAccuracy, CellKind::kRatio, CellKind::kCount,
                               CellKind::kTime,     CellKind::kBound, CellKind::kSetting};

CellKind ParseKind(const CsvTable& table, const CsvRow& row, const std::string& text) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (text == kKinds[i]) return kOrder[i];
  }
  throw CsvError(table.Where(row) + ": unknown kind \"" + text + "\"" + DidYouMean(text, kKinds));
}

double DefaultTolerance(CellKind kind) {
  return kind == CellKind::kRatio || kind == CellKind::kTime ? 0.2 : 0.1;
}

// Takes `ending` off the end of `text`, if it is there.
bool TakeOff(std::string_view& text, std::string_view ending) {
  if (text.size() < ending.size() || text.substr(text.size() - ending.size()) != ending)
    return false;
  text = Trimmed(text.substr(0, text.size() - ending.size()));
  return true;
}

// The value of a cell whose kind is known.
void ParseValue(const CsvTable& table, const CsvRow& row, PublishedCell& cell) {
  const std::size_t column = table.Column("value");
  if (cell.kind != CellKind::kBound) {
    cell.value = table.Number(row, column);
  } else {
    const std::string& text = row.fields[column];
    cell.at_most = text.starts_with("<=");
    if (!cell.at_most && !text.starts_with(">=")) {
      throw CsvError(table.Where(row) + ": a bound is written \"<=14.5\" or \">=0.95\", not \"" +
                     text + "\"");
    }
    cell.value = ParseNumber(Trimmed(std::string_view(text).substr(2)));
    if (!cell.value) throw CsvError(table.Where(row) + ": \"" + text + "\" bounds by no number");
  }
  if (cell.value && std::isnan(*cell.value)) cell.value.reset();
}

// "sampling(25)".
bool ParseSampling(const CsvTable& table, const CsvRow& row, std::string_view text,
                   PublishedCell& cell) {
  if (!text.starts_with("sampling(") || !text.ends_with(")")) return false;
  const auto trials = ParseNumber(text.substr(9, text.size() - 10));
  if (!trials || !(*trials >= 2 && *trials <= 1e9) || *trials != std::floor(*trials)) {
    throw CsvError(table.Where(row) + ": tolerance \"" + std::string(text) +
                   "\": a standard deviation is of 2 trials or more");
  }
  cell.trials = static_cast<std::int64_t>(*trials);
  return true;
}

void ParseTolerance(const CsvTable& table, const CsvRow& row, std::string_view text,
                    PublishedCell& cell) {
  const std::string whole(text);
  text = Trimmed(text);
  if (text.empty()) {
    cell.tolerance = DefaultTolerance(cell.kind);
    return;
  }
  if (ParseSampling(table, row, text, cell)) return;
  cell.absolute = TakeOff(text, "abs");
  const bool percent = !cell.absolute && TakeOff(text, "%");
  const auto value = ParseNumber(text);
  if (!value || !(*value >= 0) || std::isinf(*value)) {
    throw CsvError(table.Where(row) + ": tolerance \"" + whole +
                   "\" is no number of 0 or more (\"0.1\", \"10%\", \"0.002abs\" or "
                   "\"sampling(25)\")");
  }
  cell.tolerance = percent ? *value / 100 : *value;
}

void CheckColumns(const CsvTable& table) {
  for (const std::string& name : table.header) {
    bool known = false;
    for (const std::string& column : kColumns) known = known || column == name;
    if (!known) {
      throw CsvError(table.file + ":" + std::to_string(table.header_line) + ": unknown column \"" +
                     name + "\"" + DidYouMean(name, kColumns));
    }
  }
}

std::string Optional(const CsvTable& table, const CsvRow& row, std::string_view column) {
  return table.Has(column) ? row.fields[table.Column(column)] : "";
}

PublishedCell ParseCell(const CsvTable& table, const CsvRow& row) {
  PublishedCell cell;
  cell.row = row.fields[table.Column("row")];
  cell.column = row.fields[table.Column("column")];
  if (cell.row.empty() || cell.column.empty()) {
    throw CsvError(table.Where(row) + ": row and column must be named");
  }
  cell.kind = ParseKind(table, row, row.fields[table.Column("kind")]);
  ParseValue(table, row, cell);
  ParseTolerance(table, row, row.fields[table.Column("tolerance")], cell);
  cell.unit = Optional(table, row, "unit");
  cell.group = Optional(table, row, "group");
  cell.page = Optional(table, row, "page");
  cell.table = Optional(table, row, "table");
  cell.machine = Optional(table, row, "machine");
  cell.note = Optional(table, row, "note");
  cell.line = row.line;
  return cell;
}

std::vector<PublishedCell> FromTable(const CsvTable& table) {
  CheckColumns(table);
  std::vector<PublishedCell> cells;
  std::set<std::pair<std::string, std::string>> seen;
  for (const CsvRow& row : table.rows) {
    cells.push_back(ParseCell(table, row));
    const PublishedCell& cell = cells.back();
    if (!seen.insert({cell.row, cell.column}).second) {
      throw CsvError(table.Where(row) + ": the cell \"" + cell.row + "\", \"" + cell.column +
                     "\" is given twice");
    }
  }
  return cells;
}

}  // namespace

std::string_view Name(CellKind kind) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kind == kOrder[i]) return kKinds[i];
  }
  return "";
}

bool Band::Holds(double value) const {
  const double slack = std::isinf(value) ? 0 : 1e-12 * std::abs(value);
  return value + slack >= low && value - slack <= high;
}

Band PublishedCell::Agrees() const {
  Band band;
  if (kind == CellKind::kBound) {
    (at_most ? band.high : band.low) = *value;
  } else if (std::isinf(*value)) {
    band = {*value, *value};
  } else if (trials > 0) {
    const auto degrees = static_cast<double>(trials - 1);
    const boost::math::chi_squared chi(degrees);
    band.low = *value * std::sqrt(degrees / boost::math::quantile(chi, 0.975));
    band.high = *value * std::sqrt(degrees / boost::math::quantile(chi, 0.025));
  } else {
    const double margin = absolute ? tolerance : tolerance * std::abs(*value);
    band = {*value - margin, *value + margin};
  }
  return band;
}

std::string PublishedCell::Text() const {
  if (!value) return "";
  const char* sign = kind != CellKind::kBound ? "" : at_most ? "<=" : ">=";
  return sign + FormatNumber(*value);
}

std::vector<PublishedCell> ReadPaperCells(const std::string& path) {
  return FromTable(ReadCsv(path));
}

std::vector<PublishedCell> ParsePaperCells(std::string_view text, const std::string& file) {
  return FromTable(ParseCsv(text, file));
}

}  // namespace retable::harness
