#include "harness/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "base/atomic_file.hpp"
#include "base/parallel.hpp"
#include "base/sha256.hpp"
#include "base/text/suggest.hpp"
#include "harness/cli/shell.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/pooling.hpp"
#include "harness/plan/tidy_columns.hpp"
#include "harness/plan/value_json.hpp"

namespace retable::harness {
namespace {

// A build without CUDA knows neither the methods that exist on CUDA only nor their parameters;
// their rows are NOT-RUN, not mistakes.
bool BeyondThisBuild(const std::string& device, const AlgorithmInfo* info, const Devices& devices) {
  if (device != "cuda" || devices.cuda_built) return false;
  return !info || std::ranges::count(info->devices, "cuda") == 0;
}

AlgorithmInfo FindAlgorithm(const std::vector<AlgorithmInfo>& all, const AlgorithmEntry& entry,
                            const Devices& devices) {
  std::vector<std::string> names;
  for (const auto& info : all) {
    if (info.name == entry.name) return info;
    names.push_back(info.name);
  }
  if (BeyondThisBuild(entry.device, nullptr, devices)) return {entry.name, {}, {}, "", ""};
  throw ConfigError(entry.where,
                    "unknown algorithm \"" + entry.name + "\"" + DidYouMean(entry.name, names) +
                        "; a new one is known once its file registers it and the program is built");
}

bool SameType(const Value& given, const Value& declared) {
  if (given.index() == declared.index()) return true;
  // An integer is welcome where a number is asked for.
  return std::holds_alternative<double>(declared) && std::holds_alternative<std::int64_t>(given);
}

Value Widen(const Value& given, const Value& declared) {
  if (std::holds_alternative<double>(declared) && std::holds_alternative<std::int64_t>(given)) {
    return static_cast<double>(std::get<std::int64_t>(given));
  }
  return given;
}

const char* TypeName(const Value& value) {
  static const char* const names[] = {"true or false", "an integer", "a number", "a text"};
  return names[value.index()];
}

Value CheckAgainst(const std::vector<ParameterSpec>& specs, const std::string& what,
                   const std::string& name, const Value& value, const Position& where) {
  std::vector<std::string> names;
  for (const auto& spec : specs) {
    if (spec.name == name) {
      if (!SameType(value, spec.fallback)) {
        throw ConfigError(where, fmt::format("{} {} must be {} ({})", what, name,
                                             TypeName(spec.fallback), spec.help));
      }
      return Widen(value, spec.fallback);
    }
    names.push_back(spec.name);
  }
  throw ConfigError(where, fmt::format("unknown {} \"{}\"{}", what, name, DidYouMean(name, names)));
}

// All combinations of a list of (name, values), the last name fastest.
std::vector<Values> CrossProduct(
    const std::vector<std::pair<std::string, std::vector<Value>>>& sweeps) {
  std::vector<Values> product = {{}};
  for (const auto& [name, values] : sweeps) {
    std::vector<Values> next;
    for (const Values& partial : product) {
      for (const Value& value : values) {
        next.push_back(partial);
        next.back()[name] = value;
      }
    }
    product = std::move(next);
  }
  return product;
}

std::vector<DatasetInfo> ResolveDatasets(const Experiment& experiment, const Protocol& protocol) {
  std::vector<DatasetInfo> all;
  for (const auto& [name, where] : experiment.datasets) {
    try {
      auto members = protocol.resolve(name);
      for (DatasetInfo& info : members) {
        info.of_group = members.size() > 1;
        const bool seen = std::ranges::count(all, info.name, &DatasetInfo::name) > 0;
        if (!seen) all.push_back(std::move(info));
      }
    } catch (const UnknownName& unknown) {
      throw ConfigError(where,
                        std::string(unknown.what()) + DidYouMean(unknown.name, unknown.candidates));
    }
  }
  return all;
}

// The given axes, and the defaults of those that are left out.
std::vector<std::pair<std::string, std::vector<Value>>> CheckedAxes(const Experiment& experiment,
                                                                    const Protocol& protocol) {
  auto axes = experiment.axes;
  for (auto& [name, values] : axes) {
    if (IsTidyColumn(name)) {
      throw ConfigError(
          experiment.axis_positions.at(name),
          "an axis cannot be called \"" + name + "\": the tidy CSV has a column of that name");
    }
    for (Value& value : values) {
      value =
          CheckAgainst(protocol.axes(), "axis", name, value, experiment.axis_positions.at(name));
    }
  }
  for (const ParameterSpec& spec : protocol.axes()) {
    const bool given = experiment.axis_positions.contains(spec.name);
    if (!given && !spec.optional) axes.push_back({spec.name, {spec.fallback}});
  }
  return axes;
}

Values CheckedSettings(const Experiment& experiment, const Protocol& protocol) {
  Values settings;
  for (const auto& spec : protocol.settings()) settings[spec.name] = spec.fallback;
  for (const auto& [name, entry] : experiment.settings) {
    settings[name] = CheckAgainst(protocol.settings(), "setting", name, entry.first, entry.second);
  }
  return settings;
}

Values WithDefaults(Values given, const AlgorithmInfo& info, const AlgorithmEntry& entry,
                    const Devices& devices) {
  if (BeyondThisBuild(entry.device, &info, devices)) return given;
  for (auto& [name, value] : given) {
    value = CheckAgainst(info.parameters, "parameter of " + info.name, name, value, entry.where);
  }
  for (const auto& spec : info.parameters) given.emplace(spec.name, spec.fallback);
  return given;
}

// "no CUDA device: no NVIDIA driver is loaded" -> "needs a CUDA device: no NVIDIA driver is
// loaded".
std::string NeedsCuda(const std::string& reason) {
  const std::string none = "no CUDA device";
  return reason.starts_with(none) ? "needs a CUDA device" + reason.substr(none.size()) : reason;
}

// What to type where the data can be fetched, else what its family says.
std::string NeedsData(const DatasetInfo& data) {
  if (!data.origin.starts_with("openml")) return data.reason;
  return fmt::format("needs data set {}: build/retable datasets fetch {}{}", data.name, data.name,
                     data.reason.empty() ? "" : " (" + data.reason + ")");
}

std::optional<std::string> WhyNot(const CellConfig& cell, const DatasetInfo& data,
                                  const AlgorithmInfo& info, const Devices& devices,
                                  const Protocol& protocol) {
  const bool has_backend = std::ranges::count(info.devices, cell.device) > 0;
  if (cell.device == "cuda" && !devices.cuda_built) return "this build has no CUDA";
  if (cell.device == "cuda" && !devices.cuda) return NeedsCuda(devices.cuda_reason);
  if (cell.device == "cpu" && !devices.cpu) return "CPU rows were not asked for (--device cuda)";
  if (!has_backend) {
    return info.name + " has no " + (cell.device == "cuda" ? "CUDA" : "CPU") +
           " backend in this build";
  }
  if (!data.present) return NeedsData(data);
  return protocol.unsupported(cell);
}

}  // namespace

std::string ExpandTemplate(const std::string& text, const CellConfig& cell, const Position& where) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto close = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (close == std::string::npos) {
      result += text[i];
      continue;
    }
    const std::string name = text.substr(i + 1, close - i - 1);
    if (name == "name" || name == "algorithm") {
      result += cell.algorithm;
    } else if (name == "label") {
      result += cell.label;
    } else if (name == "device") {
      result += cell.device;
    } else if (name == "dataset") {
      result += cell.dataset;
    } else if (const auto axis = cell.axes.find(name); axis != cell.axes.end()) {
      result += ValueText(axis->second);
    } else if (const auto p = cell.parameters.find(name); p != cell.parameters.end()) {
      result += ValueText(p->second);
    } else {
      std::vector<std::string> names = {"name", "algorithm", "label", "device", "dataset"};
      for (const Values* values : {&cell.axes, &cell.parameters}) {
        for (const auto& [known, value] : *values) names.push_back(known);
      }
      throw ConfigError(where.file.empty() ? Position{cell.experiment, 0, 0} : where,
                        "{" + name + "} is neither an axis nor a parameter of " + cell.algorithm +
                            DidYouMean(name, names));
    }
    i = close;
  }
  return result;
}

namespace {

// In a build without CUDA a label may name a parameter whose default nobody knows.
std::string LabelOf(const AlgorithmEntry& entry, const CellConfig& cell, bool lenient) {
  try {
    return ExpandTemplate(entry.label, cell, entry.where);
  } catch (const ConfigError&) {
    if (!lenient) throw;
    return entry.label;
  }
}

// The files that a command names, as they are now: no build compiles them.
std::string HashOfCommand(const std::string& command) {
  const char* root = std::getenv("RETABLE_ROOT");
  std::string all;
  for (const std::string& word : ShellWords(command)) {
    const auto file = std::filesystem::path(root == nullptr ? "." : root) / word;
    std::error_code none;
    if (std::filesystem::is_regular_file(file, none)) all += Sha256(ReadWhole(file));
  }
  return Sha256(all);
}

// "quantiles" of "quantiles/accuracy": whose code measures, under whatever id an experiment has.
std::string FamilyOfProtocol(const std::string& protocol) {
  return protocol.substr(0, protocol.find('/'));
}

}  // namespace

std::string CellKey(const CellConfig& config, const std::string& device_class) {
  nlohmann::json resolved = ToJson(config);
  resolved.erase("experiment");
  resolved.erase("label");
  resolved.erase("dataset");  // the hash stands for it; synthetic data hashes its definition
  if (config.dataset_sha256.empty()) resolved["dataset"] = config.dataset;
  resolved["device_class"] = device_class;
  resolved["sources"] = FamilySourceHash(FamilyOfProtocol(config.protocol));
  if (const auto command = config.parameters.find("command"); command != config.parameters.end()) {
    resolved["command_files"] = HashOfCommand(std::get<std::string>(command->second));
  }
  resolved["schema"] = 1;
  return Sha256(resolved.dump());
}

std::string PlanVariables() {
  const char* rows = std::getenv("RETABLE_TRAINING_ROWS");
  return rows == nullptr ? "" : fmt::format("RETABLE_TRAINING_ROWS={} ", ShellWord(rows));
}

namespace {

// Where the experiment's file has this text under these keys; the file where a layer above has it.
Position WhereOf(const Experiment& experiment, std::initializer_list<const char*> keys,
                 const std::string& text) {
  const TomlTree* tree = experiment.declared.get();
  for (const char* key : keys) {
    tree = tree != nullptr && tree->is_table() ? tree->find(key) : nullptr;
  }
  const std::string* found = tree != nullptr ? std::get_if<std::string>(&tree->data) : nullptr;
  return found != nullptr && *found == text ? tree->where : Position{experiment.file, 0, 0};
}

// The table's templates are filled in when all is measured: what is wrong is said before.
void CheckTemplates(const Experiment& experiment, const CellConfig& cell) {
  const std::string &rows = experiment.table.rows, &pivot = experiment.table.pivot;
  ExpandTemplate(rows, cell, WhereOf(experiment, {"table", "rows"}, rows));
  ExpandTemplate(pivot, cell, WhereOf(experiment, {"table", "pivot"}, pivot));
  const Position file{experiment.file, 0, 0};
  for (const ColumnSpec& column : experiment.table.columns) {
    for (const auto& [name, value] : column.where) ExpandTemplate("{" + name + "}", cell, file);
    ExpandTemplate(column.ratio_row, cell, file);
  }
}

// A metric that nobody measures would be an empty column when all else is measured.
void CheckMetrics(const Experiment& experiment, const Protocol& protocol) {
  const std::vector<std::string> known = protocol.metrics();
  for (const auto& [metric, where] : experiment.metrics) {
    if (std::ranges::count(known, metric) > 0) continue;
    throw ConfigError(where, fmt::format("{} measures no metric \"{}\"{}", protocol.name(), metric,
                                         DidYouMean(metric, known)));
  }
}

Protocol& ProtocolOf(const Experiment& experiment) {
  try {
    return FindProtocol(experiment.protocol);
  } catch (const UnknownName& unknown) {
    throw ConfigError(WhereOf(experiment, {"protocol"}, experiment.protocol),
                      std::string(unknown.what()) + DidYouMean(unknown.name, unknown.candidates));
  }
}

// A row would count a cell that is planned twice as two: its samples twice, its interval too
// narrow.
void RefuseTwice(const std::vector<PlannedCell>& cells,
                 const std::vector<const AlgorithmEntry*>& entries) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellConfig& cell = cells[i].config;
    if (seen.emplace(cells[i].key, cell.label, cell.dataset).second) continue;
    throw ConfigError(entries[i]->where,
                      fmt::format("the cell {} on {} is planned twice ({}): give each axis and "
                                  "parameter a value once, and no two of `algorithm` the same",
                                  cell.label, cell.dataset, ToJson(cell.axes).dump()));
  }
}

// The cross product; `visit` gets each cell with its data set, its method and its entry.
template <typename Visit>
void Expand(const Experiment& experiment, const Protocol& protocol, const Devices& devices,
            const std::vector<DatasetInfo>& datasets, const Visit& visit) {
  // The members of a group that are not at hand are listed once, with the data; a data set that the
  // experiment names itself has its NOT-RUN cells.
  const bool any_present =
      std::ranges::any_of(datasets, [](const auto& data) { return data.present; });
  const auto algorithms = protocol.algorithms();
  const auto axes = CrossProduct(CheckedAxes(experiment, protocol));
  const Values settings = CheckedSettings(experiment, protocol);
  for (const AlgorithmEntry& entry : experiment.algorithms) {
    const AlgorithmInfo info = FindAlgorithm(algorithms, entry, devices);
    for (const Values& given : CrossProduct(entry.parameters)) {
      const Values parameters = WithDefaults(given, info, entry, devices);
      for (const DatasetInfo& data : datasets) {
        if (data.of_group && !data.present && any_present) continue;
        for (const Values& point : axes) {
          CellConfig c;
          c.experiment = experiment.id;
          c.family = experiment.family;
          c.protocol = experiment.protocol;
          c.algorithm = entry.name;
          c.device = entry.device;
          c.dataset = data.name;
          c.dataset_sha256 = data.sha256;
          c.parameters = parameters;
          c.axes = point;
          c.settings = settings;
          c.seed = experiment.seed;
          c.repeats = experiment.repeats;
          c.label = LabelOf(entry, c, BeyondThisBuild(entry.device, &info, devices));
          visit(std::move(c), data, info, entry);
        }
      }
    }
  }
}

}  // namespace

void VisitNominalCells(const Experiment& experiment, const Devices& devices, bool resolved,
                       const std::function<void(const CellConfig&)>& visit) {
  const Protocol& protocol = ProtocolOf(experiment);
  std::vector<DatasetInfo> datasets;
  if (resolved) datasets = ResolveDatasets(experiment, protocol);
  for (std::size_t i = 0; !resolved && i < experiment.datasets.size(); ++i) {
    datasets.emplace_back().name = experiment.datasets[i].first;
  }
  for (DatasetInfo& data : datasets) data.present = true;
  Expand(experiment, protocol, devices, datasets,
         [&](const CellConfig& cell, const auto&...) { visit(cell); });
}

Plan MakePlan(const Experiment& experiment, const Devices& devices) {
  const Protocol& protocol = ProtocolOf(experiment);
  Plan plan;
  plan.experiment = experiment;
  CheckMetrics(experiment, protocol);
  RefusePooling(experiment);
  plan.datasets = ResolveDatasets(experiment, protocol);
  std::vector<const AlgorithmEntry*> entries;  // of each cell
  const Position of_group = WhereOf(experiment, {"group"}, experiment.group);
  Expand(experiment, protocol, devices, plan.datasets,
         [&](CellConfig config, const DatasetInfo& data, const AlgorithmInfo& info,
             const AlgorithmEntry& entry) {
           PlannedCell cell;
           cell.not_run = WhyNot(config, data, info, devices, protocol);
           cell.time_limit = experiment.time_limit;
           cell.memory_limit = experiment.memory_limit;
           cell.exclusive = experiment.exclusive;
           // An algorithm's cells have the same names.
           const bool fresh = plan.cells.empty() ||
                              plan.cells.back().config.algorithm != config.algorithm ||
                              plan.cells.back().config.device != config.device;
           if (fresh && !BeyondThisBuild(config.device, &info, devices)) {
             CheckTemplates(experiment, config);
           }
           if (cell.exclusive) {
             const std::string part = ExpandTemplate(experiment.group, config, of_group);
             cell.group = config.device + (part.empty() ? "" : ", " + part);
           }
           cell.config = std::move(config);
           plan.cells.push_back(std::move(cell));
           entries.push_back(&entry);
         });
  plan.experiment.axes = CheckedAxes(experiment, protocol);
  for (const auto& [name, values] : plan.experiment.axes) plan.experiment.axis_positions[name];
  // Half of what planning a million cells takes.
  ParallelFor(plan.cells.size(), [&](std::size_t i) {
    PlannedCell& cell = plan.cells[i];
    cell.key =
        CellKey(cell.config, cell.config.device == "cuda" ? devices.cuda_class : devices.cpu_class);
  });
  RefuseTwice(plan.cells, entries);
  return plan;
}

}  // namespace retable::harness
