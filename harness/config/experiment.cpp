#include "harness/config/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/text/ascii.hpp"
#include "base/text/suggest.hpp"
#include "harness/config/claim_syntax.hpp"
#include "harness/config/schema.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

std::string Text(const TomlTree& table, const std::string& key, const std::string& fallback = "") {
  const TomlTree* node = table.find(key);
  return node ? std::get<std::string>(node->data) : fallback;
}

std::vector<std::string> Texts(const TomlTree& table, const std::string& key) {
  std::vector<std::string> texts;
  for (const TomlTree& item : table.array(key)) texts.push_back(std::get<std::string>(item.data));
  return texts;
}

double Real(const TomlTree& table, const std::string& key, double fallback) {
  const TomlTree* node = table.find(key);
  return node ? node->real() : fallback;
}

std::int64_t Integer(const TomlTree& table, const std::string& key, std::int64_t fallback) {
  const TomlTree* node = table.find(key);
  return node ? std::get<std::int64_t>(node->data) : fallback;
}

void RefuseEmpty(const TomlTree& node) {
  if (node.array().empty()) throw ConfigError(node.where, "an empty array sweeps over nothing");
}

// A scalar or an array of scalars, as the values of a sweep.
std::vector<Value> Sweep(const TomlTree& node) {
  std::vector<Value> values;
  if (node.is_array()) {
    RefuseEmpty(node);
    for (const TomlTree& item : node.array()) values.push_back(item.scalar());
  } else {
    values.push_back(node.scalar());
  }
  return values;
}

// Profiles are laid over the file before what comes from elsewhere is.
void RefuseProfiles(const TomlTree& layer) {
  if (const TomlTree* profiles = layer.find("profiles")) {
    throw ConfigError(profiles->where,
                      "a profile is changed in the experiment's file alone; give the field itself, "
                      "such as repeats = 3, which counts in every profile");
  }
}

// Lays `layer` over `base`: tables are merged key by key, everything else is replaced.
void Merge(TomlTree& base, const TomlTree& layer) {
  for (const auto& [key, value] : layer.table()) {
    TomlTree* mine = base.find(key);
    if (!mine) {
      base.table().push_back({key, value});
    } else if (mine->is_table() && value.is_table()) {
      Merge(*mine, value);
    } else {
      *mine = value;
    }
  }
}

// "a.b=1" as a tree {a = {b = 1}}. A value that is not TOML is taken as a text.
TomlTree ParseAssignment(const std::string& assignment) {
  const std::string shown = "--set " + assignment;
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError({shown, 0, 0}, "expected key=value, for example --set repeats=3");
  }
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  TomlTree tree;
  try {
    tree = ParseToml(key + " = " + value, shown);
  } catch (const ConfigError&) {
    tree = ParseToml(key + " = '" + value + "'", shown);
  }
  return tree;
}

void ForgetPositions(TomlTree& node, const std::string& name) {
  node.where = {name, 0, 0};
  if (node.is_table()) {
    for (auto& [key, value] : node.table()) ForgetPositions(value, name);
  } else if (node.is_array()) {
    for (TomlTree& item : node.array()) ForgetPositions(item, name);
  }
}

void ApplyLayers(TomlTree& root, const Overrides& overrides) {
  if (const TomlTree* profiles = root.find("profiles")) {
    if (const TomlTree* profile = profiles->find(overrides.profile)) {
      const TomlTree layer = *profile;
      Merge(root, layer);
    }
  }
  if (!overrides.machine_file.empty()) {
    const TomlTree layer = ReadToml(overrides.machine_file, overrides.machine_file);
    RefuseProfiles(layer);
    Merge(root, layer);
  }
  for (const std::string& assignment : overrides.assignments) {
    TomlTree layer = ParseAssignment(assignment);
    ForgetPositions(layer, "--set " + assignment);
    RefuseProfiles(layer);
    Merge(root, layer);
  }
}

void Check(const TomlTree& root) {
  const auto lines = CheckSchema(root);
  if (!lines.empty()) throw ConfigError(lines);
}

AlgorithmEntry ReadAlgorithm(const TomlTree& node) {
  AlgorithmEntry entry;
  entry.name = Text(node, "name");
  entry.device = Text(node, "device", "cpu");
  entry.label = Text(node, "label", "{name}");
  entry.where = node.find("name")->where;
  for (const auto& [key, value] : node.table()) {
    if (key == "name" || key == "device" || key == "label") continue;
    entry.parameters.emplace_back(key, Sweep(value));
  }
  return entry;
}

// The columns that a column is made of stand before it: a table is filled column by column.
void CheckParts(const TomlTree& item, const ColumnSpec& column,
                const std::vector<ColumnSpec>& before) {
  std::vector<std::string> parts = column.least_of, known;
  if (item.find("ratio")) parts.insert(parts.end(), {column.ratio_of, column.ratio_over});
  if (item.find("interval")) parts.push_back(column.interval_of);
  for (const ColumnSpec& other : before) known.push_back(other.name);
  for (const std::string& part : parts) {
    if (std::ranges::count(known, part) > 0) continue;
    throw ConfigError(item.where,
                      fmt::format("column \"{}\": no column before it is called \"{}\"{}",
                                  column.name, part, DidYouMean(part, known)));
  }
}

TableSpec ReadTable(const TomlTree& node) {
  TableSpec table;
  table.rows = Text(node, "rows", table.rows);
  table.row_header = Text(node, "row_header", table.row_header);
  table.pivot = Text(node, "pivot");
  table.over = Texts(node, "over");
  for (const TomlTree& item : node.array("columns")) {
    ColumnSpec column;
    column.name = Text(item, "name");
    column.metric = Text(item, "metric");
    column.statistic = Text(item, "statistic", "median");
    column.fact = Text(item, "fact");
    column.group = Text(item, "group");
    for (const auto& [key, value] : item.table("where")) {
      column.where[key] = ValueText(value.scalar());
    }
    if (const TomlTree* ratio = item.find("ratio")) {
      if (ratio->array().size() != 2) {
        throw ConfigError(ratio->where, "ratio takes two column names: [a, b]");
      }
      column.ratio_of = std::get<std::string>(ratio->array()[0].data);
      column.ratio_over = std::get<std::string>(ratio->array()[1].data);
    }
    column.ratio_row = Text(item, "ratio_row");
    column.least_of = Texts(item, "least");
    column.called = Texts(item, "called");
    column.interval_of = Text(item, "interval");
    if (!column.called.empty() && column.called.size() != column.least_of.size()) {
      throw ConfigError(item.where, "column \"" + column.name +
                                        "\": called names each column of least, in its order");
    }
    const int sources = !column.metric.empty() + !column.fact.empty() + !column.ratio_of.empty() +
                        !column.least_of.empty() + !column.interval_of.empty();
    if (sources != 1) {
      throw ConfigError(item.where, "column \"" + column.name +
                                        "\" needs one of metric, fact, ratio, least, interval");
    }
    const bool twice = column.name == table.row_header ||
                       std::ranges::count(table.columns, column.name, &ColumnSpec::name) > 0;
    if (twice) {
      throw ConfigError(item.where, "two columns are called \"" + column.name +
                                        "\" (row_header is one): give each a name of its own");
    }
    CheckParts(item, column, table.columns);
    table.columns.push_back(std::move(column));
  }
  if (!table.pivot.empty() && table.columns.size() != 1) {
    throw ConfigError(node.find("pivot")->where,
                      fmt::format("pivot makes every column of one that is declared, not of {}",
                                  table.columns.size()));
  }
  return table;
}

// The parts of a text such as "metric: name; ...", without spaces around them.
std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (const auto word = Trimmed(part, " "); !word.empty()) parts.emplace_back(word);
  }
  return parts;
}

// The metrics that columns and the figure show, each where it is first named.
std::map<std::string, Position> ShownMetrics(const TomlTree& root) {
  std::map<std::string, Position> metrics;
  const auto add = [&](const TomlTree& table, const char* key) {
    if (const TomlTree* node = table.find(key)) metrics.emplace(Text(table, key), node->where);
  };
  if (const TomlTree* table = root.find("table")) {
    for (const TomlTree& column : table->array("columns")) add(column, "metric");
  }
  if (const TomlTree* figure = root.find("figure")) {
    add(*figure, "metric");
    for (const std::string& part : Split(Text(*figure, "thresholds"), ';')) {
      for (const std::string& metric : Split(part.substr(0, part.find(':')), ';')) {
        metrics.emplace(metric, figure->find("thresholds")->where);
      }
    }
  }
  metrics.erase("");
  return metrics;
}

// A figure is drawn along axes, and a scatter figure along columns too.
void CheckFigure(const TomlTree& figure, const Experiment& experiment) {
  const bool scatter = Text(figure, "kind") == "scatter";
  std::vector<std::string> known = {"label", "algorithm", "device", "dataset"};
  for (const auto& [name, values] : experiment.axes) known.push_back(name);
  if (scatter) {
    for (const ColumnSpec& column : experiment.table.columns) known.push_back(column.name);
  }
  for (const char* key : {"x", "per", "panel"}) {
    for (const std::string& name : Split(Text(figure, key), scatter ? ';' : ',')) {
      if (std::ranges::count(known, name) > 0) continue;
      throw ConfigError(figure.find(key)->where,
                        fmt::format("figure.{}: no axis{} is called \"{}\"{}", key,
                                    scatter ? " or column" : "", name, DidYouMean(name, known)));
    }
  }
}

void ReadShown(const TomlTree& root, Experiment& experiment) {
  experiment.metrics = ShownMetrics(root);
  if (const TomlTree* table = root.find("table")) experiment.table = ReadTable(*table);
  if (const TomlTree* figure = root.find("figure")) {
    CheckFigure(*figure, experiment);
    for (const auto& [key, value] : figure->table()) {
      experiment.figure.emplace_back(key, value.scalar());
    }
  }
  for (const TomlTree& item : root.array("claim")) {
    try {
      ParseCheck(Text(item, "check"));
    } catch (const ExpressionError& problem) {
      throw ConfigError(item.find("check")->where, problem.what());
    }
    const std::string id = Text(item, "id");
    if (std::ranges::count(experiment.claims, id, &ClaimSpec::id) > 0) {
      throw ConfigError(item.find("id")->where,
                        "two claims are called \"" + id + "\": give each an id of its own");
    }
    experiment.claims.push_back({id, Text(item, "text"), Text(item, "where"), Text(item, "check"),
                                 Text(item, "note"), item.find("check")->where});
  }
  for (const auto& [key, value] : root.table("expected")) experiment.expected[key] = value.real();
}

Experiment ReadExperiment(const TomlTree& root) {
  Experiment e;
  e.id = Text(root, "id");
  const auto slash = e.id.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == e.id.size()) {
    throw ConfigError(root.find("id")->where,
                      "id must be family/artifact, such as quantiles/table2");
  }
  // One spelling, since ids are typed by hand and name files.
  constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (e.id.find_first_not_of(kAllowed) != slash ||
      e.id.find_first_not_of(kAllowed, slash + 1) != std::string::npos) {
    throw ConfigError(root.find("id")->where, "id '" + e.id +
                                                  "' has other characters than a-z, 0-9 and _, "
                                                  "unlike quantiles/beyond_bytes");
  }
  e.family = e.id.substr(0, slash);
  e.artifact = e.id.substr(slash + 1);
  e.protocol = Text(root, "protocol");
  e.title = Text(root, "title");
  e.question = Text(root, "question");
  e.citation = Text(root, "citation");
  e.where = Text(root, "where");
  for (const char* swept : {"datasets", "algorithm"}) RefuseEmpty(*root.find(swept));
  for (const TomlTree& item : root.array("datasets")) {
    e.datasets.emplace_back(std::get<std::string>(item.data), item.where);
  }
  for (const TomlTree& item : root.array("algorithm")) e.algorithms.push_back(ReadAlgorithm(item));
  for (const auto& [key, value] : root.table("axes")) {
    e.axes.emplace_back(key, Sweep(value));
    e.axis_positions[key] = value.where;
  }
  for (const auto& [key, value] : root.table("settings")) {
    e.settings[key] = {value.scalar(), value.where};
  }
  e.seed = Integer(root, "seed", e.seed);
  e.repeats = Integer(root, "repeats", e.repeats);
  e.time_limit = Real(root, "time_limit", e.time_limit);
  e.memory_limit = Real(root, "memory_limit", e.memory_limit);
  if (const TomlTree* exclusive = root.find("exclusive"))
    e.exclusive = std::get<bool>(exclusive->data);
  e.group = Text(root, "group", e.group);
  e.notes = Texts(root, "notes");
  e.coverage_total = Integer(root, "coverage_total", 0);
  e.coverage_unit = Text(root, "coverage_unit", e.coverage_unit);
  ReadShown(root, e);
  return e;
}

// Checked before the layers, so that a mistake is shown where it stands, and after.
Experiment Resolve(std::shared_ptr<const TomlTree> declared, const Overrides& overrides) {
  Check(*declared);
  TomlTree root = *declared;
  ApplyLayers(root, overrides);
  Check(root);
  Experiment experiment = ReadExperiment(root);
  if (overrides.repeats > 0) experiment.repeats = overrides.repeats;
  experiment.declared = std::move(declared);
  experiment.given = overrides;
  return experiment;
}

// Every TOML below `folder`, in order.
std::vector<fs::path> FindTomls(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  if (error) {
    throw ConfigError({folder.string(), 0, 0}, "cannot be read: " + error.message() +
                                                   "; set RETABLE_ROOT to the source folder");
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Experiment ParseExperiment(const std::string& text, const std::string& shown_name) {
  return Resolve(std::make_shared<TomlTree>(ParseToml(text, shown_name)), {});
}

Experiment WithOverrides(const Experiment& experiment, const Overrides& overrides) {
  Experiment other = Resolve(experiment.declared, overrides);
  other.file = experiment.file;
  other.paper_file = experiment.paper_file;
  return other;
}

std::vector<Experiment> LoadExperiments(const std::string& root, const Overrides& overrides) {
  std::vector<Experiment> experiments;
  std::vector<std::string> lines;
  std::map<std::string, std::string> seen;
  for (const fs::path& file : FindTomls(fs::path(root) / "experiments")) {
    const std::string shown = fs::relative(file, root).string();
    try {
      Experiment& experiment = experiments.emplace_back(
          Resolve(std::make_shared<TomlTree>(ReadToml(file.string(), shown)), overrides));
      experiment.file = file.string();
      const fs::path paper = fs::path(file).replace_extension(".paper.csv");
      if (fs::exists(paper)) experiment.paper_file = paper.string();
      const auto [where, is_new] = seen.emplace(experiment.id, shown);
      if (!is_new) {
        lines.push_back(fmt::format("{}: id \"{}\" is taken by {}; give it another", shown,
                                    experiment.id, where->second));
      }
    } catch (const ConfigError& problem) {
      for (const std::string& line : problem.lines()) {  // one of --set is that of every file
        if (std::ranges::count(lines, line) == 0) lines.push_back(line);
      }
    }
  }
  if (!lines.empty()) throw ConfigError(lines);
  // "table10" after "table9": natural order within a family.
  std::ranges::sort(experiments, {}, [](const auto& e) {
    return std::tuple(e.family, e.artifact.size(), e.artifact);
  });
  return experiments;
}

}  // namespace retable::harness
