#include "datasets/registry/embedded.hpp"

#include <charconv>
#include <map>
#include <mutex>
#include <stdexcept>

#include "base/sha256.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/openml/gzip.hpp"
#include "datasets/registry/embedded_files.hpp"

namespace retable::datasets {
namespace {

struct EmbeddedSource {
  const char* name;
  const char* file;
  const char* target_file;  //!< the target's own file, or nullptr
  char separator;
  bool header;  //!< first line: rows, columns, class names
  std::vector<std::string> features;
  std::vector<std::string> classes;
};

std::vector<std::string> CancerFeatures() {
  const std::vector<std::string> base = {
      "radius",      "texture",   "perimeter",      "area",     "smoothness",
      "compactness", "concavity", "concave points", "symmetry", "fractal dimension"};
  std::vector<std::string> names;
  for (const auto& name : base) names.push_back("mean " + name);
  for (const auto& name : base) names.push_back(name + " error");
  for (const auto& name : base) names.push_back("worst " + name);
  return names;
}

std::vector<std::string> DigitFeatures() {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) {
    names.push_back("pixel_" + std::to_string(i / 8) + "_" + std::to_string(i % 8));
  }
  return names;
}

const std::vector<EmbeddedSource>& Sources() {
  static const std::vector<EmbeddedSource> sources = {
      {"iris",
       "iris.csv",
       nullptr,
       ',',
       true,
       {"sepal length", "sepal width", "petal length", "petal width"},
       {"setosa", "versicolor", "virginica"}},
      {"breast_cancer",
       "breast_cancer.csv",
       nullptr,
       ',',
       true,
       CancerFeatures(),
       {"malignant", "benign"}},
      {"wine",
       "wine_data.csv",
       nullptr,
       ',',
       true,
       {"alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols",
        "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue",
        "od280/od315_of_diluted_wines", "proline"},
       {"class_0", "class_1", "class_2"}},
      {"digits",
       "digits.csv.gz",
       nullptr,
       ',',
       false,
       DigitFeatures(),
       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
      {"diabetes",
       "diabetes_data_raw.csv.gz",
       "diabetes_target.csv.gz",
       ' ',
       false,
       {"age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"},
       {}},
  };
  return sources;
}

//! OpenML's, as ARFF with the target last.
std::string ArffFile(const std::string& name) {
  return name == "adult" || name == "cal_housing" ? name + ".arff.gz" : "";
}

const EmbeddedSource& FindSource(const std::string& name) {
  for (const EmbeddedSource& source : Sources()) {
    if (name == source.name) return source;
  }
  throw std::invalid_argument("no embedded data set \"" + name + "\"");
}

std::string FileText(const std::string& file) {
  std::string bytes(EmbeddedFile(file));
  return IsGzip(bytes) ? Gunzip(bytes) : bytes;
}

//! The text that a data set's hash is of.
std::string HashedText(const std::string& name) {
  if (const std::string arff = ArffFile(name); !arff.empty()) return FileText(arff);
  const EmbeddedSource& source = FindSource(name);
  return FileText(source.file) +
         (source.target_file != nullptr ? FileText(source.target_file) : "");
}

//! Plain separated numbers; the embedded CSV files have nothing else after their first line.
class NumberReader {
 public:
  NumberReader(std::string_view text, char separator)
      : at_(text.data()), end_(text.data() + text.size()), separator_(separator) {}

  void SkipLine() {
    while (at_ < end_ && *at_ != '\n') ++at_;
    if (at_ < end_) ++at_;
  }
  bool AtEnd() const { return at_ >= end_; }
  double Next() {
    double value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc()) throw std::logic_error("an embedded file is damaged");
    at_ = stop;
    while (at_ < end_ && (*at_ == separator_ || *at_ == '\n' || *at_ == '\r')) ++at_;
    return value;
  }

 private:
  const char* at_;
  const char* end_;
  char separator_;
};

}  // namespace

std::string_view EmbeddedFile(const std::string& name) {
  for (const EmbeddedBytes& file : kEmbeddedFiles) {
    if (name == file.name) {
      return {reinterpret_cast<const char*>(file.bytes), file.size};
    }
  }
  throw std::invalid_argument("no embedded file \"" + name + "\"");
}

const std::vector<std::string>& EmbeddedNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EmbeddedSource& source : Sources()) all.emplace_back(source.name);
    return all;
  }();
  return names;
}

std::string EmbeddedSha256(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& hash = known[name];
  if (hash.empty()) hash = Sha256(HashedText(name));
  return hash;
}

namespace {

Frame ParseEmbeddedArff(const std::string& file) {
  ArffOptions options;
  options.file = file;
  options.roles = LastIsTarget;
  return ParseArff(FileText(file), options);
}

Frame ParseEmbeddedCsv(const std::string& name) {
  const EmbeddedSource& source = FindSource(name);
  const std::string text = FileText(source.file);
  const std::string target_text = source.target_file != nullptr ? FileText(source.target_file) : "";
  NumberReader features(text, source.separator);
  NumberReader targets(target_text, source.separator);
  NumberReader& target = source.target_file != nullptr ? targets : features;
  if (source.header) features.SkipLine();

  std::vector<ColumnInfo> columns;
  for (const std::string& feature : source.features) {
    columns.push_back({feature, ColumnKind::kNumeric, {}});
  }
  columns.push_back({"target", source.classes.empty() ? ColumnKind::kNumeric : ColumnKind::kNominal,
                     source.classes});
  const std::size_t width = source.features.size();
  FrameBuilder builder(columns, LastIsTarget(columns));
  while (!features.AtEnd()) {
    double* row = builder.Row();
    for (std::size_t c = 0; c < width; ++c) row[c] = features.Next();
    row[width] = target.Next();
    builder.CommitRow();
  }
  return builder.Finish();
}

}  // namespace

Frame LoadEmbedded(const std::string& name) {
  const std::string arff = ArffFile(name);
  Frame frame = arff.empty() ? ParseEmbeddedCsv(name) : ParseEmbeddedArff(arff);
  frame.name = name;
  frame.origin = "embedded";
  frame.sha256 = EmbeddedSha256(name);
  return frame;
}

}  // namespace retable::datasets
