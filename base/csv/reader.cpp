#include "base/csv/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include "base/csv/number.hpp"
#include "base/text/ascii.hpp"
#include "base/utf8.hpp"

namespace retable {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr std::size_t kBlockBytes = 1u << 20;
// A quote that stays open swallows the rest of the file: memory ends before many files do.
constexpr std::size_t kMostRecordBytes = 256u << 20;

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

// Whether names are data rather than names: all numbers, but not those that count columns, as
// tables without names are often headed; or more numbers than words, and one with a fraction.
bool AreData(const std::vector<std::string>& names) {
  bool counts = true, fraction = false;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const NumberText number = ReadNumber(names[i]);
    if (number.kind != NumberText::Kind::kNumber) continue;
    ++numbers;
    const auto index = static_cast<double>(i);
    counts = counts && (number.value == index || number.value == index + 1);
    fraction = fraction || number.value != std::floor(number.value);
  }
  return numbers == names.size() ? !counts : fraction && 2 * numbers > names.size();
}

}  // namespace

CsvRecords::CsvRecords(const std::string& path, CsvDialect dialect)
    : file_(path), dialect_(dialect), stream_(path, std::ios::binary) {
  const int number = errno;
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw CsvError(path + ": Is a directory");
  if (!stream_) throw CsvError(path + ": " + std::generic_category().message(number));
  const auto size = std::filesystem::file_size(path, none);
  if (!none) bytes_ = static_cast<std::int64_t>(size);  // a pipe has none
  Fill();
  CheckStart();
}

CsvRecords::CsvRecords(CsvText text, CsvDialect dialect)
    : file_(std::move(text.file)),
      dialect_(dialect),
      rest_(text.text),
      bytes_(static_cast<std::int64_t>(text.text.size())),
      read_(bytes_) {
  stream_.setstate(std::ios::eofbit);
  CheckStart();
}

void CsvRecords::CheckStart() {
  if (!dialect_.utf8) return;
  if (rest_.starts_with("\x1F\x8B")) {
    throw CsvError(file_ + " is compressed; unpack it first, as by gunzip");
  }
  if (rest_.starts_with("\xFF\xFE") || rest_.starts_with("\xFE\xFF")) {
    throw CsvError(file_ + " is UTF-16; save it as UTF-8, as by iconv -f utf-16 -t utf-8");
  }
  if (rest_.starts_with(kMark)) rest_.remove_prefix(kMark.size());
}

// Reads more bytes behind the rest; false at the end of the file.
bool CsvRecords::Fill() {
  if (!stream_.good()) return false;
  if (rest_.size() > kMostRecordBytes) {
    throw CsvError(file_, line_,
                   "a record of more than " + std::to_string(kMostRecordBytes >> 20) +
                       " MiB begins here; is the closing quote of a field missing?");
  }
  // As much again as there is: a long record is moved a few times only.
  const std::size_t kept = rest_.size(), more = std::max(kBlockBytes, kept);
  std::vector<char> larger;
  if (buffer_.size() < kept + more) larger.resize(kept + more);
  std::vector<char>& to = larger.empty() ? buffer_ : larger;
  if (kept > 0) std::memmove(to.data(), rest_.data(), kept);
  if (!larger.empty()) buffer_.swap(larger);
  stream_.read(buffer_.data() + kept, static_cast<std::streamsize>(more));
  if (stream_.bad()) throw CsvError(file_, line_, "reading failed");
  read_ += stream_.gcount();
  rest_ = {buffer_.data(), kept + static_cast<std::size_t>(stream_.gcount())};
  return rest_.size() > kept;
}

// The next line feed at or behind `at`; false where the file ends before one.
bool CsvRecords::Find(std::size_t at, std::size_t& found) {
  for (;;) {
    found = rest_.find('\n', at);
    if (found != std::string_view::npos) return true;
    at = rest_.size();
    if (!Fill()) {
      found = rest_.size();
      return false;
    }
  }
}

// Length of the next record, the carriage return of its line end included.
std::size_t CsvRecords::RecordLength() {
  std::size_t end = 0;
  Find(0, end);
  if (!dialect_.quotes) return end;
  if (dialect_.comments && rest_.front() == '#') return end;
  if (rest_.substr(0, end).find('"') == std::string_view::npos) return end;
  // A quote opens a field at its start, and ends it; right behind one that ended, it is part of
  // the field, which goes on.
  bool quoted = false, may_open = true;
  for (std::size_t at = 0;; ++at) {
    if (at == rest_.size() && !Fill()) {
      if (quoted) throw CsvError(file_, line_, "a quoted field is never closed");
      return at;
    }
    const char c = rest_[at];
    if (c == '"' && (quoted || may_open)) {
      quoted = !quoted;
      may_open = true;
    } else if (!quoted) {
      if (c == '\n') return at;
      may_open = c == ',';
    }
  }
}

void CsvRecords::CheckText(const CsvRecord& record) const {
  const std::size_t at = std::min(Utf8ErrorAt(record.text), record.text.find('\0'));
  if (at == std::string_view::npos) return;
  const auto before = record.text.substr(0, at);
  const auto line = record.line + std::count(before.begin(), before.end(), '\n');
  const bool zero = record.text[at] == '\0';
  throw CsvError(file_, line,
                 "byte " + std::to_string(at - (before.rfind('\n') + 1) + 1) +
                     (zero ? " is zero: this is no text"
                           : " is not UTF-8; convert the file, as by iconv -f latin1 -t utf-8"));
}

bool CsvRecords::Next(CsvRecord& record) {
  std::int64_t blank = 0;  // the first blank line before the record
  while (!rest_.empty() || Fill()) {
    const std::size_t length = RecordLength();
    const std::string_view text = rest_.substr(0, length);
    const std::size_t returns = text.ends_with('\r') && length < rest_.size() ? 1 : 0;
    record.text = text.substr(0, length - returns);
    record.end = rest_.substr(length - returns, returns + 1);
    record.line = line_;
    line_ += 1 + (dialect_.quotes ? std::count(text.begin(), text.end(), '\n') : 0);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    if (dialect_.comments && record.text.starts_with('#')) continue;
    if (!dialect_.blank_lines && IsBlank(record.text)) {
      if (blank == 0) blank = record.line;
      continue;
    }
    if (refuses_blank_ && blank != 0) {
      throw CsvError(file_, blank,
                     "a blank line in a table of one column: a missing value is NA or \"\"; "
                     "else delete the line");
    }
    if (dialect_.utf8) CheckText(record);
    return true;
  }
  return false;
}

bool CsvRecords::Next(CsvBlock& block, std::size_t count) {
  block.records.clear();
  block.bytes.clear();
  CsvRecord record;
  while (block.records.size() < count && Next(record)) {
    block.bytes.insert(block.bytes.end(), record.text.begin(), record.text.end());
    block.bytes.insert(block.bytes.end(), record.end.begin(), record.end.end());
    block.records.push_back(record);
  }
  // The bytes moved as they grew; they stay now.
  const char* at = block.bytes.data();
  for (CsvRecord& moved : block.records) {
    moved.text = {at, moved.text.size()};
    at += moved.text.size();
    moved.end = {at, moved.end.size()};
    at += moved.end.size();
  }
  return !block.records.empty();
}

double CsvRecords::done() const {
  if (bytes_ <= 0) return rest_.empty() ? 1 : 0;
  const auto left = static_cast<std::int64_t>(rest_.size());
  return std::clamp(static_cast<double>(read_ - left) / static_cast<double>(bytes_), 0.0, 1.0);
}

void CsvFields::Split(const CsvRecord& record, const std::string& file) {
  const std::string_view text = record.text;
  const auto fail = [&](const std::string& what) {
    throw CsvError(file, record.line, "field " + std::to_string(fields_.size() + 1) + ": " + what);
  };
  const auto plain = [&](std::size_t at) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view field = text.substr(at, end - at);
    if (field.find('"') != std::string_view::npos) {
      fail("a quote inside a field that does not begin with one");
    }
    if (field.find('\r') != std::string_view::npos) {
      fail("a carriage return inside a field without quotes; lines end with LF or CRLF");
    }
    fields_.push_back(field);
    return end;
  };
  fields_.clear();
  unquoted_.clear();
  for (std::size_t at = 0;; ++at) {  // over the comma
    if (at >= text.size() || text[at] != '"') {
      at = plain(at);
    } else {
      unquoted_.reserve(text.size());  // never moves while fields point to it
      const std::size_t begin = unquoted_.size();
      for (++at;; ++at) {
        const std::size_t quote = text.find('"', at);
        if (quote == std::string_view::npos) fail("a quoted field is never closed");
        unquoted_.append(text, at, quote - at);
        at = quote + 1;
        if (at >= text.size() || text[at] != '"') break;
        unquoted_ += '"';
      }
      if (at < text.size() && text[at] != ',') fail("text after the closing quote");
      fields_.push_back(std::string_view(unquoted_).substr(begin));
    }
    if (at >= text.size()) return;
  }
}

CsvHeader::CsvHeader(CsvRecords& records, std::span<const std::string> known)
    : file(records.file()) {
  CsvRecord record;
  if (!records.Next(record)) throw CsvError(file, 1, "empty: a header line is needed");
  line = record.line;
  CsvFields fields;
  fields.Split(record, file);
  names.assign(fields.begin(), fields.end());
  if (names.size() == 1) records.RefuseBlankLines();
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      throw CsvError(file, line,
                     "column \"" + name + "\" occurs twice; does this line hold the names?");
    }
  }
  const bool all_known =
      !known.empty() && std::ranges::all_of(known, [&](const auto& k) { return seen.contains(k); });
  if (AreData(names) && !all_known) {
    throw CsvError(file, line,
                   "numbers, not names; a header line with the columns' names is needed");
  }
}

void CsvHeader::Split(const CsvRecord& record, CsvFields& fields) const {
  fields.Split(record, file);
  if (fields.size() == names.size()) return;
  throw CsvError(file, record.line,
                 std::to_string(fields.size()) + " fields where the header has " +
                     std::to_string(names.size()));
}

double CsvNumber(std::string_view field, const std::string& where, const std::string& column) {
  const NumberText number = ReadNumber(field);
  if (number.kind == NumberText::Kind::kNumber) return number.value;
  if (number.kind == NumberText::Kind::kMissing) return std::numeric_limits<double>::quiet_NaN();
  throw CsvError(where + ": column \"" + column + "\": \"" + Excerpt(field) +
                 (number.kind == NumberText::Kind::kBeyond
                      ? "\" is beyond the largest number, 1.8e308"
                      : "\" is no number"));
}

double CsvHeader::Number(const CsvRecord& record, std::string_view field,
                         std::size_t column) const {
  const NumberText number = ReadNumber(field);
  if (number.kind == NumberText::Kind::kNumber) return number.value;
  return CsvNumber(field, file + ":" + std::to_string(record.line), names.at(column));
}

float CsvHeader::Float(const CsvRecord& record, std::string_view field, std::size_t column) const {
  const double value = Number(record, field, column);
  if (std::isfinite(value) && std::abs(value) > double{std::numeric_limits<float>::max()}) {
    throw CsvError(file, record.line,
                   "column \"" + names.at(column) + "\": \"" + Excerpt(field) +
                       "\" is beyond the largest number of 32 bits, 3.4e38; scale the column");
  }
  return static_cast<float>(value);
}

}  // namespace retable
