#pragma once
//! @file
//! Comma-separated values by RFC 4180, read and written without regard to the locale.
//!
//! Tables go out and published cells come in as CSV, so both ends are strict: a quote out of place,
//! a row of the wrong length or a header named twice is an error that says file:line. Two things go
//! beyond the RFC: lines whose first character is '#' are comments (provenance of the numbers
//! stands beside them), and empty lines are skipped. UTF-8, an opening byte-order mark is ignored;
//! line ends LF or CRLF on reading, LF on writing. Numbers are written in the shortest form that
//! reads back to the same double, with '.', whole ones below 1e15 without exponent; NaN is an empty
//! field.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retable::harness {

//! What is wrong with a CSV file; what() begins "file:line: ".
class CsvError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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
  //! The number in a field; nothing for an empty one. @throws CsvError when it is no number
  std::optional<double> Number(const CsvRow& row, std::size_t column) const;
};

//! @param file only named in errors
//! @throws CsvError
CsvTable ParseCsv(std::string_view text, std::string file);
//! @throws CsvError, also when the file cannot be read
CsvTable ReadCsv(const std::string& path);

//! Shortest text that reads back to the same double; "" for NaN, "inf", "-inf".
std::string FormatNumber(double value);
//! The double that the whole of `text` spells ('.' as the point, "inf", "nan"), or nothing.
std::optional<double> ParseNumber(std::string_view text);
//! The field, quoted when it must be.
std::string CsvField(std::string_view field);

//! Writes rows to a stream, which the caller keeps and checks.
class CsvWriter {
 public:
  explicit CsvWriter(std::ostream& out) : out_(out) {}
  CsvWriter& Field(std::string_view field);
  CsvWriter& Field(const char* field) { return Field(std::string_view(field)); }
  CsvWriter& Field(double value);
  CsvWriter& Field(std::int64_t value);
  void EndRow();
  void Row(const std::vector<std::string>& fields);

 private:
  void Put(const std::string& field);
  std::ostream& out_;
  std::size_t written_ = 0;  // fields of the row so far
  bool lone_empty_ = false;  // the row so far is one empty field
};

}  // namespace retable::harness
