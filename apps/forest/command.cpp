#include "apps/forest/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/model/json.hpp"
#include "algorithms/extratrees/model/xgboost_export.hpp"
#include "base/atomic_file.hpp"
#include "base/cuda/devices.hpp"
#include "base/files/output_paths.hpp"
#include "datasets/arff/parser.hpp"
#include "datasets/registry/catalog.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/csv.hpp"
#include "harness/run/progress.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::FeatureMatrix;
using extratrees::Forest;
using extratrees::Targets;

//! Features and the target as text; the target may be absent, and so may the weights.
struct Table {
  std::vector<float> values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::string> feature_names;
  std::vector<std::string> target;
  std::vector<double> weights;

  FeatureMatrix matrix() const { return {values.data(), rows, columns}; }
  //! Makes the column called `name` the rows' weights.
  void TakeWeights(const std::string& name) {
    const auto found = std::find(feature_names.begin(), feature_names.end(), name);
    if (found == feature_names.end())
      throw std::invalid_argument("no column " + name + " for weights");
    const auto at = static_cast<std::size_t>(found - feature_names.begin());
    std::vector<float> rest;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % columns == at) {
        weights.push_back(static_cast<double>(values[i]));
      } else {
        rest.push_back(values[i]);
      }
    }
    values = std::move(rest);
    feature_names.erase(found);
    --columns;
  }
};

std::string ValueName(const datasets::Column& column, std::size_t row) {
  const double value = column.At(row);
  if (std::isnan(value)) {
    throw std::invalid_argument("target of row " + std::to_string(row) + " is missing");
  }
  if (!column.levels.empty()) return column.levels.at(static_cast<std::size_t>(value));
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

Table FromFrame(const datasets::Frame& frame) {
  Table table;
  table.rows = static_cast<std::size_t>(frame.rows);
  table.columns = frame.columns.size();
  table.values = frame.RowMajor();
  for (const datasets::Column& column : frame.columns) table.feature_names.push_back(column.name);
  for (std::size_t i = 0; frame.target && i < table.rows; ++i) {
    table.target.push_back(ValueName(*frame.target, i));
  }
  return table;
}

//! `target`: the column's name, or the last one where it is empty.
Table ReadArff(const std::string& path, const std::string& target, bool with_target) {
  datasets::ArffOptions options;
  options.file = path;
  options.roles = [&](const std::vector<datasets::ColumnInfo>& columns) {
    std::vector<datasets::ColumnRole> roles(columns.size(), datasets::ColumnRole::kFeature);
    bool found = false;
    for (std::size_t i = 0; i < columns.size() && with_target; ++i) {
      const bool mine = target.empty() ? i + 1 == columns.size() : columns[i].name == target;
      if (mine) roles[i] = datasets::ColumnRole::kTarget;
      found = found || mine;
    }
    if (with_target && !found) throw std::invalid_argument(path + " has no column " + target);
    return roles;
  };
  return FromFrame(datasets::ParseArff(ReadWhole(path), options));
}

//! Comma-separated with one header line; numbers, and any text in the target.
Table ReadCsv(const std::string& path, const std::string& target, bool with_target) {
  const harness::CsvTable csv = harness::ReadCsv(path);
  const std::size_t none = csv.header.size();
  const std::size_t at = !with_target ? none : target.empty() ? none - 1 : csv.Column(target);
  Table table;
  table.columns = none - (with_target ? 1 : 0);
  table.rows = csv.rows.size();
  for (std::size_t i = 0; i < none; ++i) {
    if (i != at) table.feature_names.push_back(csv.header[i]);
  }
  for (const harness::CsvRow& row : csv.rows) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      if (i == at) {
        table.target.push_back(row.fields[i]);
        continue;
      }
      const std::optional<double> value = csv.Number(row, i);
      table.values.push_back(value ? static_cast<float>(*value) : std::nanf(""));
    }
  }
  return table;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Table ReadTable(const std::string& data, const std::string& target, bool with_target) {
  if (EndsWith(data, ".arff")) return ReadArff(data, target, with_target);
  if (EndsWith(data, ".csv")) return ReadCsv(data, target, with_target);
  if (std::filesystem::exists(data)) {
    throw std::invalid_argument(data + " is neither an .arff nor a .csv file");
  }
  datasets::Catalog().Resolve(data);
  return FromFrame(datasets::Catalog().Load(data));
}

struct Arguments {
  std::string data, model, target, weights, out;
  std::string format = "retable";
  std::string device = "auto";
  int devices = 1;
  bool regression = false;
  bool proba = false;
  std::string rule = "scikit-learn";
  extratrees::ForestOptions options{.n_trees = 100};
};

Device ChooseDevice(const std::string& name) {
#if defined(RETABLE_HAS_CUDA)
  if (name == "cuda" || (name == "auto" && HasCudaDevice())) return Device::kCuda;
#else
  if (name == "cuda") throw std::invalid_argument("this program was built without CUDA");
#endif
  return Device::kCpu;
}

//! The targets' memory, and what classes are called.
struct Learned {
  std::vector<std::uint32_t> labels;
  std::vector<double> values;
  std::vector<std::string> names;
};

//! What tables write where they have no value; as a class it would be learnt like any other.
bool IsMissing(const std::string& text) {
  return text.empty() || text == "?" || text == "nan" || text == "NaN";
}

Learned ReadTargets(const Table& table, bool regression) {
  Learned learned;
  for (std::size_t i = 0; i < table.target.size(); ++i) {
    if (!IsMissing(table.target[i])) continue;
    throw std::invalid_argument("target of row " + std::to_string(i) +
                                " is missing: drop the row, or give it a target");
  }
  if (regression) {
    for (std::size_t i = 0; i < table.target.size(); ++i) {
      const std::string& text = table.target[i];
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::invalid_argument("target of row " + std::to_string(i) + " is \"" + text +
                                    "\", no number: leave out --regression, or drop the row");
      }
      learned.values.push_back(value);
    }
    return learned;
  }
  std::map<std::string, std::uint32_t> codes;
  for (const std::string& name : table.target) codes.emplace(name, 0);
  for (auto& [name, code] : codes) {
    code = static_cast<std::uint32_t>(learned.names.size());
    learned.names.push_back(name);
  }
  for (const std::string& name : table.target) learned.labels.push_back(codes.at(name));
  return learned;
}

void WriteModel(const Arguments& a, const Forest& forest, const Learned& learned,
                const std::vector<std::string>& features, OutputFile& file) {
  if (a.format == "xgboost") {
    extratrees::WriteXgboostJson(forest, file, features);
  } else {
    extratrees::WriteForestJson(forest, file, learned.names);
  }
  file.Commit();
}

int Fit(Arguments& a, std::ostream& out) {
  KeepInputs(a.out, {a.data});
  Table table = ReadTable(a.data, a.target, true);
  if (table.rows == 0) throw std::invalid_argument(a.data + " has no rows");
  if (table.target.empty()) throw std::invalid_argument(a.data + " has no target");
  if (!a.weights.empty()) table.TakeWeights(a.weights);
  const Learned learned = ReadTargets(table, a.regression);
  Targets targets = a.regression ? Targets::Regression(learned.values) : Targets(learned.labels);
  targets.weights = table.weights;
  a.options.constant_rule = extratrees::ParseConstantRule(a.rule);
  const Device device = ChooseDevice(a.device);
  Parameters parameters;
  if (device == Device::kCuda) parameters["devices"] = std::int64_t{a.devices};
  const auto trainer =
      Registry<extratrees::ForestTrainer>::Instance().Make("frontier", device, parameters);
  OutputFile file(a.out);
  const auto start = std::chrono::steady_clock::now();
  const auto fitted = trainer->fit(table.matrix(), targets, a.options);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  WriteModel(a, fitted->host(), learned, table.feature_names, file);
  out << a.options.n_trees << " trees on " << table.rows << " rows, " << table.columns
      << " features, "
      << (a.regression ? std::string("regression")
                       : std::to_string(learned.names.size()) + " classes")
      << " in " << harness::DurationText(time.count()) << " (" << DeviceName(device)
      << "): " << fitted->host().NodeCount() << " nodes, written to " << a.out << "\n";
  return 0;
}

std::string ClassName(const std::vector<std::string>& names, std::size_t c) {
  return c < names.size() ? names[c] : std::to_string(c);
}

//! One line a row: the class; with --proba each class's fraction; the mean target of a regression.
std::string Answers(const Forest& forest, const Table& table, const std::vector<std::string>& names,
                    bool proba, std::size_t& right) {
  std::ostringstream text;
  text.precision(17);
  std::vector<double> fractions(table.rows * forest.classes);
  forest.PredictProba(table.values.data(), table.rows, fractions.data());
  const bool numbers = proba || forest.regression;
  if (!numbers || forest.regression) text << "prediction";
  for (std::size_t c = 0; c < forest.classes && proba && !forest.regression; ++c) {
    text << (c > 0 ? "," : "") << ClassName(names, c);
  }
  text << "\n";
  for (std::size_t i = 0; i < table.rows; ++i) {
    const double* mine = fractions.data() + i * forest.classes;
    const std::string name = ClassName(
        names, static_cast<std::size_t>(std::max_element(mine, mine + forest.classes) - mine));
    right += !table.target.empty() && table.target[i] == name ? 1 : 0;
    if (!numbers) text << name;
    for (std::size_t c = 0; c < forest.classes && numbers; ++c) {
      text << (c > 0 ? "," : "") << mine[c];
    }
    text << "\n";
  }
  return text.str();
}

Forest ReadForest(const std::string& path, std::vector<std::string>& names) {
  const std::string text = ReadWhole(path);
  try {
    return extratrees::ReadForestJson(text, &names);
  } catch (const std::exception& error) {
    throw std::invalid_argument(path + ": " + error.what() + "; give a file written by fit");
  }
}

int Predict(const Arguments& a, std::ostream& out) {
  KeepInputs(a.out, {a.model, a.data});
  std::vector<std::string> names;
  const Forest forest = ReadForest(a.model, names);
  const bool catalogued = !EndsWith(a.data, ".arff") && !EndsWith(a.data, ".csv");
  Table table = ReadTable(a.data, a.target, !a.target.empty() || catalogued);
  if (!a.weights.empty()) table.TakeWeights(a.weights);
  if (table.columns != forest.columns) {
    throw std::invalid_argument(a.data + " has " + std::to_string(table.columns) +
                                " features, the forest " + std::to_string(forest.columns) +
                                "; --target and --weights name columns to leave out");
  }
  std::size_t right = 0;
  const std::string text = Answers(forest, table, names, a.proba, right);
  if (a.out.empty()) {
    out << text;
    return 0;
  }
  WriteAtomically(a.out, text);
  out << table.rows << " predictions written to " << a.out;
  if (!table.target.empty() && table.rows > 0 && !forest.regression) {
    out << "; accuracy " << static_cast<double>(right) / static_cast<double>(table.rows);
  }
  out << "\n";
  return 0;
}

void Declare(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  CLI::App* fit = app.add_subcommand("fit", "Train a forest and write it as JSON");
  fit->add_option("data", a.data, "an .arff or .csv file, or a data set's name")->required();
  fit->add_option("--out", a.out, "the forest's file")->required();
  fit->add_option("--target", a.target,
                  "the class's column (default: the last, or the data set's)");
  fit->add_flag("--regression", a.regression, "the target is a number: squared error");
  fit->add_option("--weights", a.weights, "a column that says what each row weighs");
  fit->add_option("--trees", a.options.n_trees, "trees");
  fit->add_option("--max-depth", a.options.max_depth, "0: no limit");
  fit->add_option("--max-features", a.options.max_features, "0: square root; all for regression");
  fit->add_option("--min-samples-leaf", a.options.min_samples_leaf, "samples of a leaf at least");
  fit->add_option("--min-samples-split", a.options.min_samples_split, "samples to split at least");
  fit->add_option("--min-impurity-decrease", a.options.min_impurity_decrease,
                  "a cut that gains less makes a leaf");
  fit->add_flag("--bootstrap", a.options.bootstrap, "each tree on rows drawn with replacement");
  fit->add_option("--rule", a.rule, "constant features: scikit-learn, geurts or report");
  fit->add_option("--seed", a.options.seed, "seed");
  fit->add_option("--device", a.device, "auto, cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  fit->add_option("--devices", a.devices, "GPUs that share the trees; 0: all");
  fit->add_option("--format", a.format, "retable (JSON that predict reads) or xgboost (JSON)")
      ->check(CLI::IsMember({"retable", "xgboost"}));
  CLI::App* predict = app.add_subcommand("predict", "Answer rows with a forest");
  predict->add_option("model", a.model, "a file written by fit")->required();
  predict->add_option("data", a.data, "an .arff or .csv file, or a data set's name")->required();
  predict->add_option("--target", a.target, "a column to leave out and to compare with");
  predict->add_option("--weights", a.weights, "a column to leave out");
  predict->add_flag("--proba", a.proba, "class fractions, one column a class");
  predict->add_option("--out", a.out, "CSV; default: standard output");
}

}  // namespace

int ForestMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments arguments;
  CLI::App app{"retable forest: extremely randomized trees", "retable forest"};
  Declare(app, arguments);
  return harness::RunVerb(app, args, out, err, [&] {
    return app.got_subcommand("fit") ? Fit(arguments, out) : Predict(arguments, out);
  });
}

static const harness::VerbRegistration registered_forest({"forest",
                                                          "fit, predict: trees on your own data",
                                                          ForestMain});

}  // namespace retable::experiments::forests
