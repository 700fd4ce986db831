#include "harness/report/csv.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/suggest.hpp"

namespace retable::harness {
namespace {

CsvTable Read(CsvRecords& records) {
  CsvHeader header(records);
  CsvTable table;
  CsvRecord record;
  CsvFields fields;
  while (records.Next(record)) {
    header.Split(record, fields);
    table.rows.push_back({{fields.begin(), fields.end()}, record.line});
  }
  table.file = std::move(header.file);
  table.header = std::move(header.names);
  table.header_line = header.line;
  return table;
}

}  // namespace

std::size_t CsvTable::Column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) {
    throw CsvError(file, header_line,
                   "no column \"" + std::string(name) + "\"" + DidYouMean(name, header));
  }
  return static_cast<std::size_t>(found - header.begin());
}

bool CsvTable::Has(std::string_view name) const {
  return std::ranges::count(header, name) > 0;
}

std::string CsvTable::Where(const CsvRow& row) const {
  return file + ":" + std::to_string(row.line);
}

std::optional<double> CsvTable::Number(const CsvRow& row, std::size_t column) const {
  const double value = CsvNumber(row.fields.at(column), Where(row), header.at(column));
  if (std::isnan(value)) return {};
  return value;
}

CsvTable ParseCsv(std::string_view text, std::string file) {
  CsvRecords records(CsvText{text, std::move(file)}, {.comments = true});
  return Read(records);
}

CsvTable ReadCsv(const std::string& path) {
  CsvRecords records(path, {.comments = true});
  return Read(records);
}

}  // namespace retable::harness
