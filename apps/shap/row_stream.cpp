#include "apps/shap/row_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/csv/number.hpp"
#include "base/parallel.hpp"
#include "base/text/ascii.hpp"
#include "base/text/suggest.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/registry/catalog.hpp"

namespace retable::experiments::treeshap {
namespace {

using retable::treeshap::FeatureEncoding;
using retable::treeshap::TreeEnsemble;

bool Contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::count(list, name) > 0;
}

std::string Nearest(const std::string& name, const std::vector<std::string>& columns) {
  if (columns.size() == 1 && columns[0].find_first_of(";\t") != std::string::npos) {
    return "; separate fields by commas, where the header has \"" + columns[0] + "\"";
  }
  for (const std::string& column : columns) {
    if (Trimmed(column) == name) return "; remove the spaces of \"" + column + "\"";
  }
  const auto near = retable::Nearest(name, columns);
  return near ? "; the nearest is \"" + *near + "\"" : "";
}

// Whether levels are numbers, other than their positions.
bool CountOtherwise(const std::vector<std::string>& levels) {
  bool otherwise = false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto number = ParseNumber(levels[i]);
    if (!number) return false;
    otherwise = otherwise || *number != static_cast<double>(i);
  }
  return otherwise;
}

// As pandas writes boolean columns.
std::optional<double> BooleanOf(std::string_view field) {
  if (field == "True") return 1.0;
  if (field == "False") return 0.0;
  return std::nullopt;
}

}  // namespace

RowStream::RowStream(const std::string& path, const TreeEnsemble& model,
                     const std::vector<std::string>& ignore, int threads)
    : path_(path), threads_(threads), model_(model), format_(FormatOf(path)) {
  if (format_ == TableFormat::kCsv) {
    OpenCsv(ignore);
  } else if (format_ == TableFormat::kArff) {
    OpenArff(ignore);
  } else if (format_ == TableFormat::kNpy) {
    OpenArray(ignore);
  } else {
    RefuseFormat(path);
  }
}

std::string RowStream::TrainersName(std::string name) const {
  if (model_.names_without_spaces) std::ranges::replace(name, ' ', '_');
  return name;
}

std::size_t RowStream::Column(const std::vector<std::string>& columns, const Places& places,
                              const std::string& feature,
                              const std::vector<std::string>& ignore) const {
  const auto at = places.find(TrainersName(feature));
  std::vector<std::size_t> found;
  if (at != places.end()) found = at->second;
  std::vector<std::size_t> kept;
  std::ranges::copy_if(found, std::back_inserter(kept),
                       [&](std::size_t i) { return !Contains(ignore, columns[i]); });
  if (!kept.empty()) found = kept;
  if (found.empty()) {
    const std::set<std::string_view> features(model_.feature_names.begin(),
                                              model_.feature_names.end());
    std::vector<std::string> others = columns;  // another feature's column is not this one's
    std::erase_if(others, [&](const auto& name) { return features.contains(name); });
    throw std::invalid_argument(path_ + " has no column \"" + feature +
                                "\", a feature of the model" + Nearest(feature, others));
  }
  if (kept.size() > 1) {
    throw std::invalid_argument(path_ + " has the columns \"" + columns[found[0]] + "\" and \"" +
                                columns[found[1]] + "\", and LightGBM calls both \"" + feature +
                                "\": leave one out with --ignore, or rename it");
  }
  return found[0];
}

// LightGBM calls the columns of an array Column_0, Column_1, ...; a table that has all of these
// names means them, in whatever order.
std::vector<std::string> RowStream::MadeUpNames(const Places& places) const {
  if (!model_.names_without_spaces || !model_.feature_names.empty()) return {};
  std::vector<std::string> names;
  for (std::int32_t f = 0; f < model_.features; ++f) {
    names.push_back("Column_" + std::to_string(f));
    if (!places.contains(names.back())) return {};
  }
  return names;
}

void RowStream::Match(const std::vector<std::string>& columns,
                      const std::vector<std::string>& ignore) {
  for (const std::string& name : ignore) {
    if (!Contains(columns, name)) {
      throw std::invalid_argument(path_ + " has no column \"" + name + "\" to leave out" +
                                  Nearest(name, columns));
    }
  }
  Places places;
  for (std::size_t i = 0; i < columns.size(); ++i) places[TrainersName(columns[i])].push_back(i);
  const std::vector<std::string> made_up = MadeUpNames(places);
  const auto named = array_             ? std::span<const std::string>()
                     : !made_up.empty() ? std::span(made_up)
                                        : std::span(model_.feature_names);
  std::set<std::string_view> known;
  std::set<std::size_t> used;
  for (const std::string& feature : named) {
    if (!known.insert(feature).second) {
      throw std::invalid_argument("two features of the model are called \"" + feature +
                                  "\": give a .npy file, whose columns go by their order");
    }
    order_.push_back(Column(columns, places, feature, ignore));
    used.insert(order_.back());
    names_.push_back(feature);
    if (Contains(ignore, columns[order_.back()])) {
      throw std::invalid_argument("--ignore " + columns[order_.back()] +
                                  ": the model needs this column, a feature of it");
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (Contains(ignore, columns[i])) continue;
    if (named.empty()) {
      const std::size_t f = order_.size();
      order_.push_back(i);
      names_.push_back(f < model_.feature_names.size() ? model_.feature_names[f] : columns[i]);
    } else if (!used.contains(i)) {
      unused_.push_back(columns[i].empty() ? "(without a name)" : columns[i]);
    }
  }
  if (order_.size() != static_cast<std::size_t>(model_.features)) {
    throw std::invalid_argument(path_ + " has " + std::to_string(order_.size()) +
                                " columns, the model " + std::to_string(model_.features) +
                                " features; --ignore NAME leaves out a column such as the target");
  }
  encodings_.resize(order_.size());
  for (const auto& [feature, encoding] : model_.encodings) {
    encodings_.at(static_cast<std::size_t>(feature)) = &encoding;
  }
}

void RowStream::OpenCsv(const std::vector<std::string>& ignore) {
  records_ = std::make_unique<CsvRecords>(path_);
  header_ = CsvHeader(*records_, model_.feature_names);
  Match(header_.names, ignore);
}

void RowStream::OpenArff(const std::vector<std::string>& ignore) {
  // The ARFF parser has its own rules for quotes and bytes.
  records_ = std::make_unique<CsvRecords>(
      path_, CsvDialect{.quotes = false, .blank_lines = true, .utf8 = false});
  CsvRecord line;
  while (records_->Next(line)) {
    if (line.text.starts_with("\x1F\x8B")) {
      throw std::invalid_argument(path_ + " is compressed; unpack it first, as by gunzip");
    }
    arff_header_.append(line.text).append("\n");
    header_lines_ = line.line;
    if (LowerCase(Trimmed(line.text)).starts_with("@data")) break;
  }
  std::vector<std::string> columns;
  datasets::ArffOptions options;
  options.file = path_;
  options.roles = [&](const std::vector<datasets::ColumnInfo>& infos) {
    for (const auto& info : infos) columns.push_back(info.name);
    return std::vector<datasets::ColumnRole>(infos.size(), datasets::ColumnRole::kFeature);
  };
  const datasets::Frame frame = datasets::ParseArff(arff_header_, options);
  Match(columns, ignore);
  for (std::size_t f = 0; f < order_.size(); ++f) {
    if (HasCategories(f)) continue;
    const datasets::Column& column = frame.columns[order_[f]];
    const bool number = encodings_[f] != nullptr && encodings_[f]->number;
    if (!number && CountOtherwise(column.levels)) positions_.push_back(names_[f]);
    if (column.kind == datasets::ColumnKind::kString) {
      throw std::invalid_argument(path_ + ": column \"" + names_[f] +
                                  "\" is text, which no tree splits; leave it out with --ignore");
    }
  }
}

void RowStream::OpenArray(const std::vector<std::string>& ignore) {
  array_ = std::make_unique<NpyMatrix>(path_);
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < array_->columns(); ++i) columns.push_back(std::to_string(i));
  Match(columns, ignore);
}

double RowStream::done() const {
  if (!array_) return records_->done();
  return array_->rows() == 0
             ? 1
             : static_cast<double>(array_row_) / static_cast<double>(array_->rows());
}

std::size_t RowStream::Append(std::size_t count, std::vector<float>& values, const Parse& parse) {
  constexpr std::size_t least = 512;  // fewer records than this are no task
  std::vector<Rows> blocks(std::clamp<std::size_t>(count / least, 1, 64));
  std::vector<std::exception_ptr> errors(blocks.size());
  ParallelFor(blocks.size(), threads_, [&](std::size_t p) {
    try {
      parse(count * p / blocks.size(), count * (p + 1) / blocks.size(), blocks[p]);
    } catch (...) {
      errors[p] = std::current_exception();
    }
  });
  std::size_t rows = 0;
  for (std::size_t p = 0; p < blocks.size(); ++p) {
    if (errors[p]) std::rethrow_exception(errors[p]);  // the first line that is wrong
    values.insert(values.end(), blocks[p].values.begin(), blocks[p].values.end());
    rows += blocks[p].count;
    for (auto& [feature, strange] : blocks[p].strange) {
      const std::size_t before = strange_[feature].count;
      if (before == 0) strange_[feature] = strange;
      strange_[feature].count = before + strange.count;
    }
  }
  return rows;
}

std::size_t RowStream::Read(std::size_t count, std::vector<float>& values) {
  if (array_) return ReadArray(count, values);
  std::size_t rows = 0;
  CsvBlock read;
  while (rows == 0) {  // ARFF lines may be comments alone
    if (!records_->Next(read, count)) return 0;
    rows =
        Append(read.records.size(), values, [&](std::size_t first, std::size_t last, Rows& block) {
          const Records part = Records(read.records).subspan(first, last - first);
          format_ == TableFormat::kArff ? ParseArff(part, block) : ParseCsv(part, block);
        });
  }
  return rows;
}

std::size_t RowStream::Skip(std::size_t count) {
  if (array_) {
    const std::size_t rows = std::min(count, array_->rows() - array_row_);
    array_row_ += rows;
    return rows;
  }
  std::size_t rows = 0, records = 0;
  for (CsvRecord record; rows == 0 || records < count; ++records) {
    if (rows == 0 && records == count) records = 0;  // ARFF lines that were comments alone
    if (!records_->Next(record)) break;
    const auto begin = record.text.find_first_not_of(" \t\r\f\v");
    rows += format_ != TableFormat::kArff ||
            (begin != std::string_view::npos && record.text[begin] != '%');
  }
  return rows;
}

std::size_t RowStream::ReadArray(std::size_t count, std::vector<float>& values) {
  constexpr std::size_t kRows = 8192;  // in memory as doubles
  const std::size_t width = array_->columns();
  const std::size_t begin = array_row_, end = begin + std::min(count, array_->rows() - begin);
  std::vector<double> block(std::min(kRows, end - begin) * width);
  while (array_row_ < end) {
    const std::size_t rows = std::min(kRows, end - array_row_);
    array_->Read(array_row_, rows, block.data());
    array_row_ += Append(rows, values, [&](std::size_t first, std::size_t last, Rows& part) {
      part.count = last - first;
      for (std::size_t r = first; r < last; ++r) {
        const auto row = static_cast<std::int64_t>(array_row_ + r + 1);
        for (std::size_t f = 0; f < order_.size(); ++f) {
          const double value = block[r * width + order_[f]];
          part.values.push_back(HasCategories(f) && !std::isnan(value)
                                    ? Category(FormatNumber(value), f, row, part)
                                    : Number(value, f, row, part));
        }
      }
    });
  }
  return end - begin;
}

float RowStream::Number(double value, std::size_t f, std::int64_t line, Rows& rows) const {
  const FeatureEncoding* encoding = encodings_[f];
  if (encoding == nullptr) return static_cast<float>(value);
  if (encoding->largest_category >= 0 && !std::isnan(value)) {
    const bool code =
        value >= 0 && value <= encoding->largest_category && value == std::floor(value);
    if (!code && rows.strange[f].count++ == 0) {
      rows.strange[f] = {1, fmt::format("{}", value), line};
    }
  }
  return encoding->encode(value);
}

float RowStream::Category(std::string_view text, std::size_t f, std::int64_t line,
                          Rows& rows) const {
  const FeatureEncoding& encoding = *encodings_[f];
  auto code = encoding.categories.code(text);
  if (!code) code = encoding.categories.code(Trimmed(text));
  if (!code) {
    const NumberText number = ReadNumber(text);
    if (number.kind == NumberText::Kind::kMissing) return encoding.encode(number.value);
    if (number.kind == NumberText::Kind::kNumber) code = encoding.categories.code(number.value);
    // Booleans are 0 and 1 to scikit-learn.
    const std::string word = LowerCase(Trimmed(text));
    if (word == "false") code = encoding.categories.code(0.0);
    if (word == "true") code = encoding.categories.code(1.0);
  }
  if (code) return encoding.encode(*code);
  if (encoding.refuses_unknown) {
    throw CsvError(path_, line,
                   "column \"" + names_[f] + "\": \"" + Excerpt(text) +
                       "\" is no category of the model, which knows " +
                       encoding.categories.summary() +
                       "; correct it, or leave the field empty: missing");
  }
  if (rows.strange[f].count++ == 0) rows.strange[f] = {1, Excerpt(text), line};
  return encoding.encode(std::numeric_limits<double>::quiet_NaN());
}

float RowStream::Level(const std::string& text, std::size_t f, std::int64_t line,
                       Rows& rows) const {
  if (HasCategories(f)) return Category(text, f, line, rows);
  if (const auto number = ParseNumber(text)) return Number(*number, f, line, rows);
  throw CsvError(path_, line,
                 "in this line or below: column \"" + names_[f] + "\": \"" + Excerpt(text) +
                     "\" is no number, which the model was trained on");
}

void RowStream::ParseCsv(Records records, Rows& rows) const {
  rows.values.reserve(records.size() * order_.size());
  CsvFields fields;
  for (const CsvRecord& record : records) {
    header_.Split(record, fields);
    for (std::size_t f = 0; f < order_.size(); ++f) {
      const std::string_view field = fields[order_[f]];
      if (HasCategories(f)) {
        rows.values.push_back(Category(field, f, record.line, rows));
        continue;
      }
      const auto boolean = BooleanOf(field);
      const double number = boolean ? *boolean : header_.Number(record, field, order_[f]);
      rows.values.push_back(Number(number, f, record.line, rows));
    }
  }
  rows.count = records.size();
}

// The parser is given the header again before each block: levels keep their codes.
void RowStream::ParseArff(Records records, Rows& rows) const {
  std::string text = arff_header_;
  for (const CsvRecord& record : records) text.append(record.text).append("\n");
  datasets::ArffOptions options;
  options.file = path_;
  options.doubles = true;
  datasets::Frame frame;
  const std::int64_t line = records.front().line;
  try {
    frame = datasets::ParseArff(text, options);
  } catch (const datasets::ParseError& error) {
    if (error.line <= header_lines_) throw;
    const std::string message = error.what();
    const auto at = message.find(": ");
    throw datasets::ParseError(path_, error.line - header_lines_ + line - 1, error.column,
                               at == std::string::npos ? message : message.substr(at + 2));
  }
  rows.count = static_cast<std::size_t>(frame.rows);
  rows.values.reserve(rows.count * order_.size());
  for (std::size_t r = 0; r < rows.count; ++r) {
    for (std::size_t f = 0; f < order_.size(); ++f) {
      const datasets::Column& column = frame.columns[order_[f]];
      const double value = column.At(r);
      if (!std::isnan(value) && !column.levels.empty()) {
        const auto level = static_cast<std::size_t>(value);
        const bool by_text =
            encodings_[f] != nullptr && (HasCategories(f) || encodings_[f]->number);
        rows.values.push_back(by_text ? Level(column.levels.at(level), f, line, rows)
                                      : Number(value, f, line, rows));
      } else if (!std::isnan(value) && HasCategories(f)) {
        rows.values.push_back(Category(FormatNumber(value), f, line, rows));
      } else {
        rows.values.push_back(Number(value, f, line, rows));
      }
    }
  }
}

std::vector<std::string> RowStream::notes() const {
  std::vector<std::string> notes;
  if (!unused_.empty()) {
    notes.push_back(fmt::format("{}: columns that the model does not know are left out: {}", path_,
                                fmt::join(unused_, ", ")));
  }
  if (!positions_.empty()) {
    notes.push_back(
        fmt::format("{}: levels of nominal columns count 0, 1, ... in the header's "
                    "order: {}; declare these numeric for their numbers",
                    path_, fmt::join(positions_, ", ")));
  }
  for (std::size_t f = 0; f < order_.size(); ++f) {
    if (array_ || !HasCategories(f) || !encodings_[f]->categories.code(std::string_view()))
      continue;
    notes.push_back(
        path_ + ": column \"" + names_[f] +
        "\": an empty field is the model's category \"\"; write NaN for a missing value");
  }
  for (const auto& [f, strange] : strange_) {
    const FeatureEncoding& encoding = *encodings_[f];
    const std::string where =
        fmt::format("{}: column \"{}\": {} values, the first \"{}\" at {} {}{}, are ", path_,
                    names_[f], strange.count, strange.text, array_ ? "row" : "line", strange.line,
                    format_ == TableFormat::kArff ? " or below" : "");
    if (!encoding.categories.empty()) {
      notes.push_back(where + "no category of the model, which knows " +
                      encoding.categories.summary() + "; they count as missing");
    } else {
      notes.push_back(where +
                      fmt::format("no category code that the model names (0 to {}); where it was "
                                  "trained on a table's categories, write their codes",
                                  encoding.largest_category));
    }
  }
  return notes;
}

}  // namespace retable::experiments::treeshap
