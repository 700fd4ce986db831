#include "base/csv/writer.hpp"

#include <ostream>

#include "base/csv/number.hpp"

namespace retable {

std::string CsvField(std::string_view field) {
  const bool quote = field.find_first_of(",\"\r\n") != std::string_view::npos ||
                     field.starts_with('#') || field.starts_with("\xEF\xBB\xBF") ||
                     (!field.empty() && field.find_first_not_of(" \t") == std::string_view::npos);
  if (!quote) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

void CsvWriter::Put(const std::string& field) {
  if (written_ > 0) out_ << ',';
  out_ << field;
  lone_empty_ = written_ == 0 && field.empty();
  ++written_;
}

CsvWriter& CsvWriter::Field(std::string_view field) {
  Put(CsvField(field));
  return *this;
}

CsvWriter& CsvWriter::Field(double value) {
  Put(FormatNumber(value));
  return *this;
}

CsvWriter& CsvWriter::Field(std::int64_t value) {
  Put(std::to_string(value));
  return *this;
}

void CsvWriter::EndRow() {
  if (lone_empty_) out_ << "\"\"";  // else it would read back as an empty line
  out_ << '\n';
  written_ = 0;
  lone_empty_ = false;
}

void CsvWriter::Row(const std::vector<std::string>& fields) {
  for (const std::string& field : fields) Field(field);
  EndRow();
}

}  // namespace retable
