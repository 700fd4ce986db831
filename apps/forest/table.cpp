#include "apps/forest/table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/atomic_file.hpp"
#include "base/csv/number.hpp"
#include "base/csv/reader.hpp"
#include "base/files/table_format.hpp"
#include "base/npy/reader.hpp"
#include "base/text/ascii.hpp"
#include "base/text/suggest.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/registry/catalog.hpp"

namespace retable::experiments::forests {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

//! The places of the columns in a file.
struct Columns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> target, weights;
};

Columns Choose(const std::vector<std::string>& names, const TableRequest& request, Table& table) {
  Columns columns;
  std::vector<const char*> roles(names.size(), nullptr);
  const auto take = [&](const std::string& name, const char* role) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw std::invalid_argument(table.data + " has no column \"" + name + "\", " + role +
                                  DidYouMean(name, names));
    }
    const auto at = static_cast<std::size_t>(found - names.begin());
    if (roles[at] != nullptr) {
      throw std::invalid_argument(table.data + ": column \"" + name + "\" is named as " +
                                  roles[at] + " and as " + role + ": name another");
    }
    roles[at] = role;
    return at;
  };
  if (!request.weights.empty()) columns.weights = take(request.weights, "the weights");
  for (const TrainedFeature& feature : request.features) {
    columns.features.push_back(take(feature.name, "a feature of the model"));
  }
  if (!request.target.empty()) {
    columns.target = take(request.target, "the target");
  } else if (request.last_target && request.labels.empty()) {
    if (roles.back() == nullptr) {
      columns.target = names.size() - 1;
    } else if (request.features.empty()) {
      throw std::invalid_argument(table.data + ": the last column, \"" + names.back() + "\", is " +
                                  roles.back() + ": name the target by --target");
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (columns.target == i || roles[i] != nullptr) continue;
    if (request.features.empty()) {
      columns.features.push_back(i);
    } else {
      table.ignored.push_back(names[i]);
    }
  }
  if (request.count != 0 && columns.features.size() != request.count) {
    throw std::invalid_argument(table.data + " has " + std::to_string(columns.features.size()) +
                                " features, the forest " + std::to_string(request.count) +
                                "; --target and --weights name columns to leave out");
  }
  return columns;
}

//! The codes of a feature's levels, by text and by number.
class Levels {
 public:
  explicit Levels(const TrainedFeature& feature) {
    for (std::size_t code = 0; code < feature.levels.size(); ++code) {
      const auto value = static_cast<float>(code);
      texts_.emplace(feature.levels[code], value);
      const NumberText number = ReadNumber(feature.levels[code]);
      if (number.kind == NumberText::Kind::kNumber) numbers_.emplace(number.value, value);
    }
  }
  bool any() const { return !texts_.empty(); }
  //! The code; NaN for a word for "missing" that is no level.
  std::optional<float> Code(std::string_view text) const {
    const auto found = texts_.find(text);
    if (found != texts_.end()) return found->second;
    const NumberText number = ReadNumber(text);
    if (number.kind == NumberText::Kind::kMissing) return kMissing;
    return number.kind == NumberText::Kind::kNumber ? Code(number.value) : std::nullopt;
  }
  std::optional<float> Code(double number) const {
    if (std::isnan(number)) return kMissing;
    const auto found = numbers_.find(number);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::map<std::string, float, std::less<>> texts_;
  std::map<double, float> numbers_;
};

[[noreturn]] void UnknownLevel(const std::string& where, const TrainedFeature& feature,
                               const std::string& text) {
  throw std::invalid_argument(
      where + ": column \"" + feature.name + "\": \"" + Excerpt(text) +
      "\", which the model does not know; drop the row, or make the value missing" +
      DidYouMean(Excerpt(text), feature.levels));
}

//! From 2^53 on a whole number may have been rounded when it was read.
bool Rounds(double value) {
  return std::floor(value) == value && (static_cast<double>(static_cast<float>(value)) != value ||
                                        (std::abs(value) >= 0x1p53 && std::isfinite(value)));
}

void NoteRounded(const std::vector<char>& rounded, Table& table) {
  for (std::size_t k = 0; k < rounded.size(); ++k) {
    if (rounded[k]) table.rounded.push_back(table.features[k].name);
  }
}

void ReadCsv(const TableRequest& request, Table& table) {
  CsvRecords records(table.data);
  std::vector<std::string> known;
  for (const TrainedFeature& feature : request.features) known.push_back(feature.name);
  const CsvHeader header(records, known);
  const Columns columns = Choose(header.names, request, table);
  table.features = request.features;
  std::vector<Levels> levels;
  for (std::size_t k = 0; k < columns.features.size(); ++k) {
    if (request.features.empty()) {
      table.features.push_back({header.names[columns.features[k]], "numeric", {}});
    }
    levels.emplace_back(table.features[k]);
  }
  std::vector<char> rounded(columns.features.size());
  CsvRecord record;
  CsvFields fields;
  while (records.Next(record)) {
    header.Split(record, fields);
    table.lines.push_back(record.line);
    if (columns.target) {
      const std::string_view text = fields[*columns.target];
      table.target.emplace_back(IsMissingWord(text) ? "" : text);
    }
    if (columns.weights) {
      table.weights.push_back(header.Number(record, fields[*columns.weights], *columns.weights));
    }
    for (std::size_t k = 0; k < columns.features.size(); ++k) {
      const std::size_t at = columns.features[k];
      if (!levels[k].any()) {
        const double value = header.Number(record, fields[at], at);
        table.values.push_back(header.Float(record, fields[at], at));
        rounded[k] = rounded[k] || Rounds(value);
      } else if (const auto code = levels[k].Code(fields[at])) {
        table.values.push_back(*code);
      } else {
        UnknownLevel(table.data + ":" + std::to_string(record.line), table.features[k],
                     std::string(fields[at]));
      }
    }
  }
  table.rows = table.lines.size();
  NoteRounded(rounded, table);
}

//! Its shortest text: "0.1" where the column has 0.1f.
std::string NumberName(const datasets::Column& column, std::size_t row) {
  const double value = column.At(row);
  if (!column.wide.empty() || std::floor(value) == value) return FormatNumber(value);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), column.values[row]);
  return {text.data(), end.ptr};
}

std::string TargetName(const datasets::Column& column, std::size_t row) {
  if (std::isnan(column.At(row))) return "";
  if (column.levels.empty()) return NumberName(column, row);
  const std::string& level = column.levels.at(static_cast<std::size_t>(column.values[row]));
  return IsMissingWord(level) ? "" : level;
}

//! The column's values as the model's feature has them, into column k of the table.
void Take(const datasets::Column& column, const TrainedFeature& feature, std::size_t k,
          Table& table) {
  const std::size_t width = table.features.size();
  const Levels levels(feature);
  const auto put = [&](std::size_t row, float value) { table.values[row * width + k] = value; };
  if ((feature.kind == "date") != (column.kind == datasets::ColumnKind::kDate)) {
    throw std::invalid_argument(table.data + ": column \"" + column.name + "\" is " +
                                datasets::KindName(column.kind) + "; in training it was " +
                                feature.kind);
  }
  // What each of the file's codes is to the model.
  std::vector<std::optional<float>> codes;
  for (const std::string& level : column.levels) {
    if (levels.any()) {
      codes.push_back(levels.Code(level));
      continue;
    }
    const NumberText number = ReadNumber(level);
    if (number.kind == NumberText::Kind::kWord || number.kind == NumberText::Kind::kBeyond) {
      throw std::invalid_argument(table.data + ": column \"" + column.name + "\" has the level \"" +
                                  Excerpt(level) + "\"; it held numbers in training");
    }
    codes.emplace_back(static_cast<float>(number.value));
  }
  for (std::size_t row = 0; row < table.rows; ++row) {
    const float value = column.values[row];
    if (std::isnan(value) || (!levels.any() && column.levels.empty())) {
      put(row, value);
      continue;
    }
    const auto code = column.levels.empty() ? levels.Code(column.At(row))
                                            : codes[static_cast<std::size_t>(value)];
    if (!code) {
      UnknownLevel(table.Where(row), feature,
                   column.levels.empty() ? NumberName(column, row)
                                         : column.levels[static_cast<std::size_t>(value)]);
    }
    put(row, *code);
  }
}

//! A nominal or string column's weight is the number that the level's text says.
double WeightOf(const datasets::Column& column, std::size_t row, const Table& table) {
  if (column.levels.empty() || std::isnan(column.At(row))) return column.At(row);
  const std::string& level = column.levels.at(static_cast<std::size_t>(column.values[row]));
  const NumberText number = ReadNumber(level);
  if (number.kind != NumberText::Kind::kWord) return number.value;
  throw std::invalid_argument(table.Where(row) + ": column \"" + column.name + "\": the weight \"" +
                              Excerpt(level) + "\" is no number");
}

void FromFrame(const datasets::Frame& frame, const TableRequest& request, Table& table) {
  std::vector<const datasets::Column*> all;
  for (const datasets::Column& column : frame.columns) all.push_back(&column);
  if (frame.target) all.push_back(&*frame.target);
  std::vector<std::string> names;
  for (const datasets::Column* column : all) names.push_back(column->name);
  const Columns columns = Choose(names, request, table);
  table.rows = static_cast<std::size_t>(frame.rows);
  table.features = request.features;
  for (const std::size_t at : columns.features) {
    const datasets::Column& column = *all[at];
    if (request.features.empty()) {
      table.features.push_back({column.name, datasets::KindName(column.kind), column.levels});
    }
    bool rounded = false;
    for (std::size_t row = 0; row < table.rows && !rounded; ++row) rounded = Rounds(column.At(row));
    if (rounded) table.rounded.push_back(column.name);
  }
  table.values.resize(table.rows * table.features.size());
  for (std::size_t k = 0; k < columns.features.size(); ++k) {
    Take(*all[columns.features[k]], table.features[k], k, table);
  }
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (columns.target) table.target.push_back(TargetName(*all[*columns.target], row));
    if (columns.weights) table.weights.push_back(WeightOf(*all[*columns.weights], row, table));
  }
}

std::string LabelName(const NpyMatrix& labels, double value) {
  if (labels.wide_integers() && std::abs(value) >= 0x1p53) {
    throw std::invalid_argument(labels.file() + ": " + FormatNumber(value) +
                                " is beyond 2^53: save y.astype(float), or of classes "
                                "numpy.unique(y, return_inverse=True)[1]");
  }
  return FormatNumber(value + 0.0);  // -0 and 0 are one number
}

//! Rows of an array that are read at a time, and their values (a wide array has few such rows).
constexpr std::size_t kArrayRows = 4096, kArrayCells = std::size_t{1} << 22;

void ReadArray(const TableRequest& request, Table& table) {
  NpyMatrix matrix(table.data);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < matrix.columns(); ++i) names.push_back(std::to_string(i));
  TableRequest by_position = request;
  by_position.features.clear();
  if (!request.features.empty()) by_position.count = request.features.size();
  const Columns columns = Choose(names, by_position, table);
  table.array = true;
  table.rows = matrix.rows();
  table.features = request.features;
  std::vector<Levels> levels;
  for (std::size_t k = 0; k < columns.features.size(); ++k) {
    if (request.features.empty()) table.features.push_back({names[columns.features[k]]});
    levels.emplace_back(table.features[k]);
  }
  std::vector<char> rounded(columns.features.size());
  const std::size_t part =
      std::clamp<std::size_t>(kArrayCells / std::max<std::size_t>(matrix.columns(), 1), 1,
                              std::clamp<std::size_t>(table.rows, 1, kArrayRows));
  std::vector<double> block(part * matrix.columns());
  table.values.reserve(table.rows * columns.features.size());
  for (std::size_t row = 0; row < table.rows; ++row) {
    const double* values = block.data() + row % part * matrix.columns();
    if (row % part == 0) {
      matrix.Read(row, std::min(part, table.rows - row), block.data());
    }
    if (columns.target) table.target.push_back(LabelName(matrix, values[*columns.target]));
    if (columns.weights) table.weights.push_back(values[*columns.weights]);
    for (std::size_t k = 0; k < columns.features.size(); ++k) {
      const double value = values[columns.features[k]];
      const auto code = levels[k].any() ? levels[k].Code(value) : static_cast<float>(value);
      if (!code) UnknownLevel(table.Where(row), table.features[k], FormatNumber(value));
      table.values.push_back(*code);
      rounded[k] = rounded[k] || (!levels[k].any() && Rounds(value));
    }
  }
  NoteRounded(rounded, table);
}

void ReadLabels(const std::string& path, Table& table) {
  if (FormatOf(path) != TableFormat::kNpy) {
    throw std::invalid_argument(path + " is no .npy file; --target names a column of the data");
  }
  NpyMatrix labels(path);
  if (labels.columns() != 1 || labels.rows() != table.rows) {
    throw std::invalid_argument(path + " has " + std::to_string(labels.rows()) + " x " +
                                std::to_string(labels.columns()) + " labels, " + table.data + " " +
                                std::to_string(table.rows) + " rows: give one label a row");
  }
  std::vector<double> values(labels.rows());
  labels.Read(0, values.size(), values.data());
  table.labels = path;
  for (const double value : values) table.target.push_back(LabelName(labels, value));
}

}  // namespace

std::string Table::Where(std::size_t row) const {
  return lines.empty() ? data + ": row " + std::to_string(row + 1)
                       : data + ":" + std::to_string(lines[row]);
}

std::string Table::WhereTarget(std::size_t row) const {
  return labels.empty() ? Where(row) : labels + ": row " + std::to_string(row + 1);
}

bool IsCatalogued(const std::string& data) {
  return FormatOf(data) == TableFormat::kOther;
}

Table ReadTable(const std::string& data, const TableRequest& request) {
  Table table;
  table.data = data;
  const TableFormat format = FormatOf(data);
  if (format == TableFormat::kCsv) {
    ReadCsv(request, table);
  } else if (format == TableFormat::kNpy) {
    ReadArray(request, table);
  } else if (format == TableFormat::kArff) {
    datasets::ArffOptions options;
    options.file = data;
    options.doubles = true;  // targets, weights and levels are compared as numbers of 64 bits
    FromFrame(datasets::ParseArff(ReadWhole(data), options), request, table);
  } else if (std::filesystem::exists(data)) {
    RefuseFormat(data);
  } else {
    datasets::Catalog().Resolve(data);
    FromFrame(datasets::Catalog().Load(data), request, table);
  }
  if (!request.labels.empty()) ReadLabels(request.labels, table);
  return table;
}

std::optional<double> ClassNumber(const std::string& name) {
  const NumberText number = ReadNumber(name);
  if (number.kind != NumberText::Kind::kNumber || !(std::abs(number.value) < 0x1p53)) return {};
  return number.value;
}

bool SameClass(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = ClassNumber(a), right = ClassNumber(b);
  return left && right && *left == *right;
}

}  // namespace retable::experiments::forests
