#pragma once
//! @file
//! Small tables as CSV, whole in memory: published cells, tables and verdicts.
//!
//! The dialect is base/csv's, plus comments: lines whose first character is '#' (provenance of the
//! numbers stands beside them).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv/number.hpp"
#include "base/csv/reader.hpp"
#include "base/csv/writer.hpp"

namespace retable::harness {

using retable::CsvError;
using retable::CsvField;
using retable::CsvWriter;
using retable::FormatNumber;
using retable::ParseNumber;

struct CsvRow {
  std::vector<std::string> fields;  //!< as many as the header has
  std::int64_t line = 0;            //!< first line of the row, from 1
};

struct CsvTable {
  std::string file;
  std::vector<std::string> header;
  std::int64_t header_line = 1;
  std::vector<CsvRow> rows;

  //! Index of a column. @throws CsvError naming the file and the nearest column
  std::size_t Column(std::string_view name) const;
  bool Has(std::string_view name) const;
  //! "file:line", for messages about this row.
  std::string Where(const CsvRow& row) const;
  //! The number in a field; nothing where it is missing. @throws CsvError when it is no number
  std::optional<double> Number(const CsvRow& row, std::size_t column) const;
};

//! @param file only named in errors
//! @throws CsvError
CsvTable ParseCsv(std::string_view text, std::string file);
//! @throws CsvError, also when the file cannot be read
CsvTable ReadCsv(const std::string& path);

}  // namespace retable::harness
