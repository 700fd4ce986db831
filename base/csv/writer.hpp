#pragma once
//! @file
//! Comma-separated values, written so that base/csv/reader.hpp reads back what was meant.
//!
//! UTF-8, lines end with LF. Numbers are written in the shortest form that reads back to the same
//! double; NaN is an empty field.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

//! The field, quoted when it must be: it holds a comma, a quote or a line end, is blank, begins
//! with '#' (a comment to some readers), or with a byte-order mark.
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

}  // namespace retable
