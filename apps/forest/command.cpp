//! @file
//! `retable forest fit|predict`: train a forest on ARFF, CSV, a NumPy array or a catalogued data
//! set, keep it as JSON or in the compact form, and use it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/model/binary.hpp"
#include "algorithms/extratrees/model/json.hpp"
#include "algorithms/extratrees/model/xgboost_export.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "apps/forest/table.hpp"
#include "base/atomic_file.hpp"
#include "base/csv/number.hpp"
#include "base/csv/writer.hpp"
#include "base/cuda/devices.hpp"
#include "base/files/output_paths.hpp"
#include "base/files/table_format.hpp"
#include "base/npy/writer.hpp"
#include "base/text/ascii.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/run/progress.hpp"

namespace retable::experiments::forests {
namespace {

using extratrees::Forest;
using extratrees::Targets;

struct Arguments {
  std::string data, model, target, labels, weights, out, format;
  std::string device = "auto";
  int devices = 1;
  bool regression = false;
  bool proba = false;
  std::string rule = "scikit-learn";
  extratrees::ForestOptions options{.n_trees = 100};
};

Device ChooseDevice(const Arguments& a, std::ostream& err) {
  if (a.device == "cpu" && a.devices > 1) {
    throw std::invalid_argument("--devices: device cpu was asked for; leave out one of both");
  }
  if (a.device == "cpu") return Device::kCpu;
  const NoDevice none = WhyNoContext(true);
  if (!none.any()) return Device::kCuda;
  if (a.device == "cuda" || a.devices > 1) {
    throw std::invalid_argument(none.why + "; " + none.remedy);
  }
  if (none.driver) err << "note: on the processor: " << none.why << "; " << none.remedy << "\n";
  return Device::kCpu;
}

//! The targets' memory, and what classes are called.
struct Learned {
  std::vector<std::uint32_t> labels;
  std::vector<double> values;
  std::vector<std::string> names;
};

Learned ReadTargets(const Table& table, bool regression) {
  Learned learned;
  for (std::size_t i = 0; i < table.target.size(); ++i) {
    if (table.target[i].empty()) {
      throw std::invalid_argument(table.WhereTarget(i) +
                                  ": the target is missing: drop the row, or give it a target");
    }
    if (!regression) continue;
    const NumberText number = ReadNumber(table.target[i]);
    if (number.kind != NumberText::Kind::kNumber) {
      throw std::invalid_argument(table.WhereTarget(i) + ": the target is \"" +
                                  Excerpt(table.target[i]) +
                                  (number.kind == NumberText::Kind::kBeyond
                                       ? "\", beyond the largest number, 1.8e308"
                                       : "\", no number: leave out --regression, or drop the row"));
    }
    if (std::isinf(number.value)) {
      throw std::invalid_argument(table.WhereTarget(i) +
                                  ": the target is infinite: drop the row, or give it a value");
    }
    learned.values.push_back(number.value);
  }
  if (regression) return learned;
  std::map<std::string, std::uint32_t> codes;
  for (const std::string& name : table.target) codes.emplace(name, 0);
  const std::string& file = table.labels.empty() ? table.data : table.labels;
  if (codes.size() > extratrees::kMaxClasses) {
    throw std::invalid_argument(file + ": the target has " + std::to_string(codes.size()) +
                                " classes, more than " + std::to_string(extratrees::kMaxClasses) +
                                ": if it is a number, give --regression");
  }
  std::map<double, std::string> numbers;
  for (const auto& [name, code] : codes) {
    const auto number = ClassNumber(name);
    const auto spelt = number ? numbers.emplace(*number, name) : std::pair(numbers.end(), true);
    if (!spelt.second) {
      throw std::invalid_argument(file + ": the classes \"" + spelt.first->second + "\" and \"" +
                                  name + "\" are one number: spell them alike");
    }
    learned.names.push_back(name);
  }
  if (numbers.size() == codes.size()) {  // as scikit-learn orders them
    learned.names.clear();
    for (const auto& [number, name] : numbers) learned.names.push_back(name);
  }
  for (std::size_t c = 0; c < learned.names.size(); ++c) {
    codes.at(learned.names[c]) = static_cast<std::uint32_t>(c);
  }
  for (const std::string& name : table.target) learned.labels.push_back(codes.at(name));
  return learned;
}

std::string Quoted(const std::vector<std::string>& names, const char* one = "column",
                   const char* many = "columns") {
  std::string list = names.size() == 1 ? one : many;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? " \"" : ", \"") + names[i] + "\"";
  }
  return list;
}

void WriteModel(const Arguments& a, const Forest& forest, const Learned& learned,
                const Table& table, OutputFile& file, std::ostream& err) {
  if (a.format == "xgboost") {
    std::vector<std::string> names, with_levels;
    for (const TrainedFeature& feature : table.features) {
      if (!table.array) names.push_back(feature.name);
      if (!feature.levels.empty()) with_levels.push_back(feature.name);
    }
    if (!with_levels.empty()) {
      err << "note: XGBoost's format keeps no levels: whoever reads it must code the "
          << Quoted(with_levels) << " as " << table.data << " does\n";
    }
    for (std::size_t c = 0; c < learned.names.size(); ++c) {
      if (learned.names[c] == std::to_string(c)) continue;
      err << "note: XGBoost's format keeps no class names: its outputs are, in this order, "
          << Quoted(learned.names, "class", "classes") << "\n";
      break;
    }
    extratrees::WriteXgboostJson(forest, file, names);
    file.Commit();
    return;
  }
  ForestNames names{learned.names, {}};
  if (!table.array) names.features = table.features;
  const bool ends_in_bin = a.out.ends_with(".bin");
  if (a.format == "binary" || (a.format.empty() && ends_in_bin)) {
    const std::vector<std::byte> bytes = extratrees::WriteForestBytes(forest, names);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  } else {
    extratrees::WriteForestJson(forest, file, names);
  }
  file.Commit();
}

void RefuseInfinite(const Table& table) {
  const std::size_t width = table.features.size();
  for (std::size_t k = 0; k < table.values.size(); ++k) {
    if (!std::isinf(table.values[k])) continue;
    throw std::invalid_argument(table.Where(k / width) + ": column \"" +
                                table.features[k % width].name +
                                "\" is infinite in 32 bits: clip it, or make it missing");
  }
}

//! What the trainer would refuse too, but without the line.
void CheckRows(const Table& table) {
  if (table.features.empty()) {
    throw std::invalid_argument(
        table.data + " has no feature: no column but the target" +
        (table.weights.empty() ? "" : " and the weights") +
        (table.lines.empty() ? "" : "; separate a .csv file's fields by commas"));
  }
  double total = table.weights.empty() ? 1 : 0;
  for (std::size_t i = 0; i < table.weights.size(); ++i) {
    total += table.weights[i];
    if (table.weights[i] >= 0 && std::isfinite(table.weights[i])) continue;
    throw std::invalid_argument(
        table.Where(i) +
        ": the weight is missing, negative or infinite: give 0 to leave the row out");
  }
  if (!(total > 0)) {
    throw std::invalid_argument(table.data + ": the weights are all 0: some row has to weigh more");
  }
  RefuseInfinite(table);
}

int Fit(Arguments& a, std::ostream& out, std::ostream& err) {
  KeepInputs(a.out, {a.data, a.labels});
  const Table table = ReadTable(
      a.data, {.target = a.target, .last_target = true, .labels = a.labels, .weights = a.weights});
  if (table.rows == 0) throw std::invalid_argument(a.data + " has no rows");
  if (!table.rounded.empty()) {
    err << "note: " << Quoted(table.rounded)
        << ": numbers beyond 2^24 are rounded to 24 bits, as scikit-learn rounds them\n";
  }
  CheckRows(table);
  const Learned learned = ReadTargets(table, a.regression);
  Targets targets = a.regression ? Targets::Regression(learned.values) : Targets(learned.labels);
  targets.weights = table.weights;
  a.options.constant_rule = extratrees::ParseConstantRule(a.rule);
  const Device device = ChooseDevice(a, err);
  Parameters parameters;
  if (device == Device::kCuda) parameters["devices"] = std::int64_t{a.devices};
  const auto trainer =
      Registry<extratrees::ForestTrainer>::Instance().Make("frontier", device, parameters);
  OutputFile file(a.out);
  const auto start = std::chrono::steady_clock::now();
  const auto fitted = trainer->fit(table.matrix(), targets, a.options);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  WriteModel(a, fitted->host(), learned, table, file, err);
  (IsStandardOutput(a.out) ? err : out)
      << a.options.n_trees << " trees on " << table.rows << " rows, " << table.features.size()
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

//! The class of the largest fraction of the row that begins there.
std::size_t Largest(const std::vector<double>& fractions, std::size_t begin, std::size_t classes) {
  const auto first = fractions.begin() + static_cast<std::ptrdiff_t>(begin);
  return static_cast<std::size_t>(
      std::max_element(first, first + static_cast<std::ptrdiff_t>(classes)) - first);
}

//! One line a row: the class; with --proba each class's fraction; the mean target of a regression.
std::string CsvAnswers(const Forest& forest, const std::vector<double>& fractions,
                       const std::vector<std::string>& names, bool proba) {
  std::ostringstream text;
  CsvWriter writer(text);
  const bool numbers = proba || forest.regression;
  if (!numbers || forest.regression) writer.Field("prediction");
  for (std::size_t c = 0; c < forest.classes && proba && !forest.regression; ++c) {
    writer.Field(ClassName(names, c));
  }
  writer.EndRow();
  for (std::size_t i = 0; i < fractions.size(); i += forest.classes) {
    if (!numbers) writer.Field(ClassName(names, Largest(fractions, i, forest.classes)));
    for (std::size_t c = 0; c < forest.classes && numbers; ++c) writer.Field(fractions[i + c]);
    writer.EndRow();
  }
  return text.str();
}

//! The same as an array: a number a row, or with --proba a row of fractions.
std::string ArrayAnswers(const Forest& forest, const std::vector<double>& fractions,
                         const std::vector<std::string>& names, bool proba) {
  const std::size_t rows = fractions.size() / forest.classes;
  if (forest.regression) return NpyText(fractions, {rows});
  if (proba) return NpyText(fractions, {rows, forest.classes});
  std::vector<double> classes;
  bool whole = true;
  for (std::size_t c = 0; c < forest.classes; ++c) {
    const auto number = ClassNumber(ClassName(names, c));
    if (!number) {
      throw std::invalid_argument("the class \"" + ClassName(names, c) +
                                  "\" is a word or beyond 2^53, which an array of numbers does not "
                                  "hold: write a .csv file, or --proba");
    }
    classes.push_back(*number);
    whole = whole && std::floor(*number) == *number;
  }
  std::vector<double> answers;
  for (std::size_t i = 0; i < fractions.size(); i += forest.classes) {
    answers.push_back(classes[Largest(fractions, i, forest.classes)]);
  }
  if (!whole) return NpyText(answers, {rows});
  return NpyText(std::vector<std::int64_t>(answers.begin(), answers.end()), {rows});
}

//! How many of the rows of known class are answered so, in words; none of a regression.
std::string AccuracyText(const Forest& forest, const std::vector<double>& fractions,
                         const std::vector<std::string>& names, const Table& table) {
  std::size_t right = 0, known = 0;
  for (std::size_t i = 0; i < table.target.size() && !forest.regression; ++i) {
    if (table.target[i].empty()) continue;
    const std::size_t c = Largest(fractions, i * forest.classes, forest.classes);
    ++known;
    right += SameClass(table.target[i], ClassName(names, c)) ? 1 : 0;
  }
  if (known == 0) return "";
  std::ostringstream text;
  text << "; accuracy " << static_cast<double>(right) / static_cast<double>(known);
  if (known < table.rows) text << " of " << known << " rows with a target";
  return text.str();
}

Forest ReadForest(const std::string& path, ForestNames& names) {
  const std::string text = ReadWhole(path);
  try {
    return extratrees::ReadForest(text, &names);
  } catch (const std::exception& error) {
    throw std::invalid_argument(path + ": " + error.what() + "; give a file written by fit");
  }
}

int Predict(const Arguments& a, std::ostream& out, std::ostream& err) {
  KeepInputs(a.out, {a.model, a.data, a.labels});
  const auto write = IsArrayOutput(a.out) ? ArrayAnswers : CsvAnswers;
  ForestNames names;
  const Forest forest = ReadForest(a.model, names);
  const Table table = ReadTable(a.data, {a.target, IsCatalogued(a.data), a.labels, a.weights,
                                         names.features, forest.columns});
  if (names.features.empty() && !table.array) {
    err << "note: " << a.model
        << " keeps no names: columns go by position, levels by their place in the file\n";
  }
  if (!table.ignored.empty()) {
    err << "note: ignored " << Quoted(table.ignored) << " of " << a.data
        << ", which the model does not know\n";
  }
  RefuseInfinite(table);
  std::vector<double> fractions(table.rows * forest.classes);
  forest.PredictProba(table.values.data(), table.rows, fractions.data());
  const std::string text = write(forest, fractions, names.classes, a.proba);
  const std::string accuracy = AccuracyText(forest, fractions, names.classes, table);
  if (a.out.empty()) {
    out << text;
    if (!accuracy.empty()) err << table.rows << " predictions" << accuracy << "\n";
    return 0;
  }
  WriteAtomically(a.out, text);
  (IsStandardOutput(a.out) ? err : out)
      << table.rows << " predictions written to " << a.out << accuracy << "\n";
  return 0;
}

constexpr const char* kDataHelp = "an .arff, .csv or .npy file, or a data set's name";
constexpr const char* kLabelsHelp = "a .npy file with the target of each row, in place of a column";

void Declare(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  CLI::App* fit = app.add_subcommand("fit", "Train a forest and write it to a file");
  fit->option_defaults()->always_capture_default();
  fit->add_option("data", a.data, kDataHelp)->required();
  fit->add_option("--out", a.out, "the forest's file")->required();
  auto* target = fit->add_option("--target", a.target,
                                 "the class's column (default: the last, or the data set's)");
  fit->add_option("--labels", a.labels, kLabelsHelp)->excludes(target);
  fit->add_flag("--regression", a.regression, "the target is a number: squared error");
  fit->add_option("--weights", a.weights, "a column that says what each row weighs");
  fit->add_option("--trees", a.options.n_trees, "trees");
  fit->add_option("--max-depth", a.options.max_depth, "0: no limit");
  fit->add_option("--max-features", a.options.max_features, "0: square root; all for regression");
  fit->add_option("--max-leaf-nodes", a.options.max_leaf_nodes,
                  "leaves of a tree at most: split what gains most first; 0: no limit");
  fit->add_option("--min-samples-leaf", a.options.min_samples_leaf, "samples of a leaf at least");
  fit->add_option("--min-samples-split", a.options.min_samples_split, "samples to split at least");
  fit->add_option("--min-impurity-decrease", a.options.min_impurity_decrease,
                  "a cut that gains less makes a leaf");
  fit->add_flag("--bootstrap", a.options.bootstrap, "each tree on rows drawn with replacement");
  fit->add_option("--rule", a.rule, "how a node counts features that are constant in it")
      ->check(CLI::IsMember({"scikit-learn", "geurts", "report"}));
  fit->add_option("--seed", a.options.seed, "seed");
  fit->add_option("--device", a.device, "where trees grow; auto: on a GPU where there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  fit->add_option("--devices", a.devices, "GPUs that share the trees; 0: all")
      ->check(CLI::Range(0, 1024));
  fit->add_option("--format", a.format,
                  "retable (JSON), binary (compact; default where --out ends in .bin), or xgboost "
                  "(JSON that predict does not read)")
      ->check(CLI::IsMember({"retable", "binary", "xgboost"}));
  CLI::App* predict = app.add_subcommand("predict", "Answer rows with a forest");
  predict->add_option("model", a.model, "a file written by fit")->required();
  predict->add_option("data", a.data, kDataHelp)->required();
  target = predict->add_option("--target", a.target, "a column to leave out and to compare with");
  predict->add_option("--labels", a.labels, kLabelsHelp)->excludes(target);
  predict->add_option("--weights", a.weights, "a column to leave out");
  predict->add_flag(
      "--proba", a.proba,
      "class fractions, one column a class; numbers in ascending order, words as text");
  predict->add_option("--out", a.out, "a .csv or .npy file; default: CSV to standard output");
}

int ForestMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Arguments arguments;
  CLI::App app{"retable forest: extremely randomized trees", "retable forest"};
  Declare(app, arguments);
  return harness::RunVerb(app, args, out, err, [&] {
    return app.got_subcommand("fit") ? Fit(arguments, out, err) : Predict(arguments, out, err);
  });
}

const harness::VerbRegistration registered_forest({"forest", "fit, predict: trees on your own data",
                                                   ForestMain});

}  // namespace
}  // namespace retable::experiments::forests
