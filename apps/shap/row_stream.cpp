#include "apps/shap/row_stream.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "base/parallel.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/registry/catalog.hpp"
#include "harness/report/csv.hpp"

namespace retable::experiments::treeshap {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string_view Trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Whether the line opens a quote, or closes one that is open: the record goes on in the next.
bool TurnsQuote(std::string_view line) {
  return std::count(line.begin(), line.end(), '"') % 2 == 1;
}

std::vector<std::string> SplitQuoted(std::string_view record) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') {
      fields.back() += record[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// The fields of a record, and the text of those that had quotes.
struct Fields {
  std::vector<std::string_view> values;
  std::vector<std::string> unquoted;

  void Split(std::string_view record) {
    values.clear();
    if (record.find('"') != std::string_view::npos) {
      unquoted = SplitQuoted(record);
      values.assign(unquoted.begin(), unquoted.end());
      return;
    }
    for (std::size_t at = 0; at <= record.size();) {
      const std::size_t end = std::min(record.find(',', at), record.size());
      values.push_back(record.substr(at, end - at));
      at = end + 1;
    }
  }
};

// The field's number, NaN where it is missing, nothing where it is a word.
std::optional<float> FieldValue(std::string_view field) {
  constexpr std::array<std::string_view, 5> missing = {"", "?", "na", "nan", "null"};
  const std::string_view text = Trim(field);
  if (const auto number = harness::ParseNumber(text)) return static_cast<float>(*number);
  const std::string lower = Lower(std::string(text));
  if (std::find(missing.begin(), missing.end(), lower) != missing.end()) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return {};
}

// Whether the line is data rather than names: numbers, but not those that count columns, as tables
// without names are often headed.
bool AllNumbers(const std::vector<std::string>& fields) {
  bool counts = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto number = harness::ParseNumber(fields[i]);
    if (!number) return false;
    const auto index = static_cast<double>(i);
    counts = counts && (*number == index || *number == index + 1);
  }
  return !counts;
}

std::string Nearest(const std::string& name, const std::vector<std::string>& columns) {
  const auto near = datasets::NearestNames(name, columns, 1);
  return near.empty() ? "" : "; the nearest is \"" + near.front() + "\"";
}

}  // namespace

RowStream::RowStream(const std::string& path, WantedColumns wanted, int threads)
    : path_(path), threads_(threads), wanted_(std::move(wanted)), file_(path, std::ios::binary) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!file_ && !error) error = std::error_code(errno, std::generic_category());
  if (error) throw std::invalid_argument("cannot read " + path + ": " + error.message());
  bytes_ = static_cast<std::int64_t>(size);
  if (file_.peek() == 0x1f) {  // the first byte of a gzip file
    throw std::invalid_argument(path + " is compressed; unpack it first, as by gunzip");
  }
  const std::string end = Lower(std::filesystem::path(path).extension().string());
  if (end == ".arff") {
    OpenArff();
  } else if (end == ".csv") {
    OpenCsv();
  } else {
    throw std::invalid_argument(path + " is neither .csv nor .arff");
  }
}

double RowStream::done() const {
  return bytes_ == 0 ? 1 : static_cast<double>(read_) / static_cast<double>(bytes_);
}

bool RowStream::NextLine(std::string& line) {
  if (!std::getline(file_, line)) {
    if (file_.bad()) throw std::runtime_error(path_ + ": reading failed");
    return false;
  }
  read_ = std::min(bytes_, read_ + static_cast<std::int64_t>(line.size()) + 1);
  if (++line_ == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

void RowStream::Match(const std::vector<std::string>& columns) {
  file_columns_ = columns.size();
  for (const std::string& name : wanted_.ignore) {
    if (!Contains(columns, name)) {
      throw std::invalid_argument(path_ + " has no column \"" + name + "\" to leave out" +
                                  Nearest(name, columns));
    }
  }
  const bool by_name = !wanted_.names.empty();
  for (std::size_t i = 0; i < columns.size() && !by_name; ++i) {
    if (Contains(wanted_.ignore, columns[i])) continue;
    order_.push_back(i);
    names_.push_back(columns[i]);
  }
  for (const std::string& name : wanted_.names) {
    const auto at = std::find(columns.begin(), columns.end(), name);
    if (at == columns.end()) {
      throw std::invalid_argument(path_ + " has no column \"" + name +
                                  "\", a feature of the model" + Nearest(name, columns));
    }
    order_.push_back(static_cast<std::size_t>(at - columns.begin()));
    names_.push_back(name);
  }
  if (order_.size() != wanted_.count) {
    throw std::invalid_argument(path_ + " has " + std::to_string(order_.size()) +
                                " columns, the model " + std::to_string(wanted_.count) +
                                " features; --ignore NAME leaves out a column such as the target");
  }
}

void RowStream::OpenCsv() {
  std::string line;
  if (!NextLine(line)) throw std::invalid_argument(path_ + ":1: empty; a header line is needed");
  std::vector<std::string> columns;
  for (const std::string& name : SplitQuoted(line)) columns.emplace_back(Trim(name));
  if (AllNumbers(columns)) {
    throw std::invalid_argument(path_ + ":1: numbers; a header line with names is needed");
  }
  Match(columns);
}

void RowStream::OpenArff() {
  std::string line;
  while (NextLine(line)) {
    arff_header_ += line + "\n";
    if (Lower(std::string(Trim(line))).rfind("@data", 0) == 0) break;
  }
  header_lines_ = line_;
  std::vector<std::string> columns;
  datasets::ArffOptions options;
  options.file = path_;
  options.roles = [&](const std::vector<datasets::ColumnInfo>& infos) {
    for (const auto& info : infos) columns.push_back(info.name);
    return std::vector<datasets::ColumnRole>(infos.size(), datasets::ColumnRole::kFeature);
  };
  const datasets::Frame frame = datasets::ParseArff(arff_header_, options);
  Match(columns);
  for (const std::size_t i : order_) {
    if (frame.columns[i].kind == datasets::ColumnKind::kString) {
      throw std::invalid_argument(path_ + ": column \"" + columns[i] +
                                  "\" is text, which no tree splits; leave it out with --ignore");
    }
  }
}

std::size_t RowStream::Read(std::size_t count, std::vector<float>& values) {
  constexpr std::size_t least = 512;  // fewer records than this are no task
  struct ParsedBlock {
    std::vector<float> values;
    std::size_t rows = 0;
    std::exception_ptr error;
  };
  std::size_t rows = 0;
  while (rows == 0) {  // ARFF lines may be comments alone
    const std::vector<Record> records = NextRecords(count);
    if (records.empty()) return 0;
    std::vector<ParsedBlock> blocks(std::clamp<std::size_t>(records.size() / least, 1, 64));
    ParallelFor(blocks.size(), threads_, [&](std::size_t p) {
      const std::size_t first = records.size() * p / blocks.size();
      const std::size_t last = records.size() * (p + 1) / blocks.size();
      const Records block = Records(records).subspan(first, last - first);
      std::vector<float>& to = blocks[p].values;
      try {
        blocks[p].rows = arff_header_.empty() ? ParseCsv(block, to) : ParseArff(block, to);
      } catch (...) {
        blocks[p].error = std::current_exception();
      }
    });
    for (const ParsedBlock& block : blocks) {
      if (block.error) std::rethrow_exception(block.error);  // the first line that is wrong
      values.insert(values.end(), block.values.begin(), block.values.end());
      rows += block.rows;
    }
  }
  return rows;
}

std::vector<RowStream::Record> RowStream::NextRecords(std::size_t count) {
  const bool csv = arff_header_.empty();
  std::vector<Record> records;
  Record record;
  while (records.size() < count && NextLine(record.text)) {
    record.line = line_;
    if (csv && Trim(record.text).empty()) continue;
    if (csv && TurnsQuote(record.text)) FinishQuote(record);
    records.push_back(std::move(record));
    record.text.clear();
  }
  return records;
}

void RowStream::FinishQuote(Record& record) {
  std::string more;
  do {
    if (!NextLine(more)) {
      throw std::invalid_argument(path_ + ":" + std::to_string(record.line) +
                                  ": a quote stays open");
    }
    record.text.append("\n").append(more);
  } while (!TurnsQuote(more));
}

std::size_t RowStream::ParseCsv(Records records, std::vector<float>& values) const {
  values.reserve(records.size() * order_.size());
  Fields fields;
  for (const Record& record : records) {
    const auto where = [&] { return path_ + ":" + std::to_string(record.line) + ": "; };
    fields.Split(record.text);
    if (fields.values.size() != file_columns_) {
      throw std::invalid_argument(where() + std::to_string(fields.values.size()) +
                                  " fields where the header has " + std::to_string(file_columns_));
    }
    for (std::size_t f = 0; f < order_.size(); ++f) {
      const std::string_view field = fields.values[order_[f]];
      const auto value = FieldValue(field);
      if (!value) {
        throw std::invalid_argument(where() + "column \"" + names_[f] + "\": \"" +
                                    std::string(field) +
                                    "\" is no number; code categories as the model was trained on");
      }
      values.push_back(*value);
    }
  }
  return records.size();
}

// The parser is given the header again before each block: levels keep their codes.
std::size_t RowStream::ParseArff(Records records, std::vector<float>& values) const {
  std::string text = arff_header_;
  for (const Record& record : records) text.append(record.text).append("\n");
  datasets::ArffOptions options;
  options.file = path_;
  datasets::Frame frame;
  try {
    frame = datasets::ParseArff(text, options);
  } catch (const datasets::ParseError& error) {
    if (error.line <= header_lines_) throw;
    const std::string message = error.what();
    const auto at = message.find(": ");
    throw datasets::ParseError(path_, error.line - header_lines_ + records.front().line - 1,
                               error.column,
                               at == std::string::npos ? message : message.substr(at + 2));
  }
  const auto rows = static_cast<std::size_t>(frame.rows);
  values.reserve(rows * order_.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (const std::size_t i : order_) values.push_back(frame.columns[i].values[r]);
  }
  return rows;
}

}  // namespace retable::experiments::treeshap
