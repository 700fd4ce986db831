#include "harness/report/csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ostream>
#include <set>

#include "base/atomic_file.hpp"
#include "harness/config/suggest.hpp"

namespace retable::harness {
namespace {

[[noreturn]] void Fail(const std::string& file, std::int64_t line, const std::string& what) {
  throw CsvError(file + ":" + std::to_string(line) + ": " + what);
}

// One pass over the text, a record at a time.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text_.substr(0, kMark.size()) == kMark) at_ = kMark.size();
  }

  // The next record that is neither empty nor a comment.
  bool Next(CsvRow& row) {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        SkipLine();
      } else if (!EatLineEnd()) {
        row.fields.clear();
        row.line = line_;
        Record(row);
        return true;
      }
    }
    return false;
  }

 private:
  void SkipLine() {
    while (at_ < text_.size() && !EatLineEnd()) ++at_;
  }

  bool EatLineEnd() {
    const bool crlf = text_.substr(at_, 2) == "\r\n";
    if (!crlf && (at_ >= text_.size() || text_[at_] != '\n')) return false;
    at_ += crlf ? 2 : 1;
    ++line_;
    return true;
  }

  void Record(CsvRow& row) {
    for (;;) {
      row.fields.push_back(at_ < text_.size() && text_[at_] == '"' ? Quoted() : Plain());
      if (at_ >= text_.size() || EatLineEnd()) return;
      ++at_;  // the comma
    }
  }

  std::string Plain() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
      if (text_[at_] == '"')
        Fail(file_, line_, "quote inside a field that does not begin with one");
      if (text_.substr(at_, 2) == "\r\n") break;
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string Quoted() {
    const std::int64_t opened = line_;
    std::string field;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) Fail(file_, opened, "quoted field is never closed");
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '"') {
        if (text_.substr(at_, 2) != "\"\"") break;
        ++at_;
      }
      field += text_[at_];
    }
    ++at_;
    const bool ends = at_ >= text_.size() || text_[at_] == ',' || text_[at_] == '\n' ||
                      text_.substr(at_, 2) == "\r\n";
    if (!ends) Fail(file_, line_, "text after the closing quote of a field");
    return field;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

std::size_t CsvTable::Column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    Fail(file, header_line, "no column \"" + std::string(name) + "\"" + DidYouMean(name, header));
  }
  return static_cast<std::size_t>(found - header.begin());
}

bool CsvTable::Has(std::string_view name) const {
  return std::find(header.begin(), header.end(), name) != header.end();
}

std::string CsvTable::Where(const CsvRow& row) const {
  return file + ":" + std::to_string(row.line);
}

std::optional<double> CsvTable::Number(const CsvRow& row, std::size_t column) const {
  const std::string& field = row.fields.at(column);
  if (field.empty()) return {};
  const auto value = ParseNumber(field);
  if (!value) {
    Fail(file, row.line, "column \"" + header.at(column) + "\": \"" + field + "\" is no number");
  }
  return value;
}

CsvTable ParseCsv(std::string_view text, std::string file) {
  CsvTable table;
  table.file = std::move(file);
  Reader reader(text, table.file);
  CsvRow row;
  if (!reader.Next(row)) Fail(table.file, 1, "empty: a header line is needed");
  table.header = row.fields;
  table.header_line = row.line;
  std::set<std::string> seen;
  for (const std::string& name : table.header) {
    if (!seen.insert(name).second)
      Fail(table.file, row.line, "column \"" + name + "\" occurs twice");
  }
  while (reader.Next(row)) {
    if (row.fields.size() != table.header.size()) {
      Fail(table.file, row.line,
           std::to_string(row.fields.size()) + " fields where the header has " +
               std::to_string(table.header.size()));
    }
    table.rows.push_back(row);
  }
  return table;
}

CsvTable ReadCsv(const std::string& path) {
  std::string text;
  try {
    text = ReadWhole(path);
  } catch (const std::runtime_error& problem) {
    throw CsvError(problem.what());
  }
  return ParseCsv(text, path);
}

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "";
  std::array<char, 64> buffer{};
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  const auto end = whole ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::fixed)
                         : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::optional<double> ParseNumber(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);  // from_chars takes no plus
  if (text.empty() || text.front() == '+') return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::string CsvField(std::string_view field) {
  const bool quote = field.find_first_of(",\"\r\n") != std::string_view::npos ||
                     (!field.empty() && field.front() == '#');
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

}  // namespace retable::harness
