#include "harness/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/suggest.hpp"

namespace retable::harness {
namespace {

const char* KindName(SchemaKind kind) {
  constexpr const char* kNames[] = {
      "text",           "integer", "number",          "true/false",
      "array of texts", "table",   "array of tables", "table, its keys checked by the protocol"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool HasKind(const TomlTree& node, SchemaKind kind) {
  switch (kind) {
    case SchemaKind::kText:
      return std::holds_alternative<std::string>(node.data);
    case SchemaKind::kInteger:
      return std::holds_alternative<std::int64_t>(node.data);
    case SchemaKind::kReal:
      return std::holds_alternative<double>(node.data) ||
             std::holds_alternative<std::int64_t>(node.data);
    case SchemaKind::kSwitch:
      return std::holds_alternative<bool>(node.data);
    case SchemaKind::kTextArray:
      return node.is_array() && std::ranges::all_of(node.array(), [](auto& n) {
               return std::holds_alternative<std::string>(n.data);
             });
    case SchemaKind::kTable:
    case SchemaKind::kOpenTable:
      return node.is_table();
    case SchemaKind::kTableArray:
      return node.is_array() &&
             std::ranges::all_of(node.array(), [](auto& n) { return n.is_table(); });
  }
  return false;
}

class Checker {
 public:
  std::vector<std::string> lines;

  void CheckTable(const TomlTree& table, const std::string& prefix) {
    for (const auto& [key, value] : table.table()) CheckMember(key, value, prefix);
    for (const SchemaField& field : ExperimentSchema()) {
      if (field.required && Parent(field.path) == prefix && !table.find(Leaf(field.path))) {
        lines.push_back(
            fmt::format("{}: {} is missing: {}", table.where.text(), field.path, field.help));
      }
    }
  }

 private:
  static std::string Parent(const std::string& path) {
    const auto dot = path.rfind('.');
    return dot == std::string::npos ? "" : path.substr(0, dot);
  }
  static std::string Leaf(const std::string& path) {
    const auto dot = path.rfind('.');
    return dot == std::string::npos ? path : path.substr(dot + 1);
  }
  static std::string Join(const std::string& prefix, const std::string& key) {
    return prefix.empty() ? key : prefix + "." + key;
  }

  const SchemaField* Find(const std::string& path) const {
    for (const SchemaField& field : ExperimentSchema()) {
      if (field.path == path) return &field;
    }
    return nullptr;
  }

  void CheckMember(const std::string& key, const TomlTree& value, const std::string& prefix) {
    const SchemaField* field = Find(Join(prefix, key));
    if (!field) {
      // An algorithm takes its own parameters beside the declared keys; the protocol checks
      // them.
      if (prefix == "algorithm[]") return;
      std::vector<std::string> known;
      for (const SchemaField& f : ExperimentSchema()) {
        if (Parent(f.path) == prefix) known.push_back(Leaf(f.path));
      }
      lines.push_back(fmt::format("{}: unknown key \"{}\"{}{}", value.where.text(), key,
                                  prefix.empty() ? "" : " in [" + prefix + "]",
                                  DidYouMean(key, known)));
      return;
    }
    CheckValue(value, *field);
  }

  void CheckValue(const TomlTree& value, const SchemaField& field) {
    if (!HasKind(value, field.kind)) {
      lines.push_back(fmt::format("{}: {} must be {} ({}), found {} {}", value.where.text(),
                                  field.path, KindName(field.kind), field.help, value.kind(),
                                  value.text()));
      return;
    }
    if (field.kind == SchemaKind::kInteger || field.kind == SchemaKind::kReal) {
      const double number = value.real();
      if (!(number >= field.low && number <= field.high)) {
        lines.push_back(fmt::format("{}: {} = {} is out of range; allowed: {} to {}",
                                    value.where.text(), field.path, value.text(), field.low,
                                    field.high));
      }
    }
    if (field.kind == SchemaKind::kText && !field.allowed.empty()) {
      const auto& text = std::get<std::string>(value.data);
      if (std::ranges::count(field.allowed, text) == 0) {
        lines.push_back(fmt::format("{}: {} cannot be \"{}\"{}", value.where.text(), field.path,
                                    text, DidYouMean(text, field.allowed)));
      }
    }
    if (field.kind == SchemaKind::kTable) CheckTable(value, field.path);
    if (field.kind == SchemaKind::kTableArray) {
      for (const TomlTree& item : value.array()) CheckTable(item, field.path + "[]");
    }
  }
};

std::vector<SchemaField> MakeSchema() {
  using K = SchemaKind;
  const std::vector<std::string> devices = {"cpu", "cuda"};
  const std::vector<std::string> statistics = {
      "mean", "std", "median", "min", "max", "failures", "n", "mean_by_dataset", "sum", "share"};
  const std::vector<std::string> figures = {"violin", "histogram", "line",   "curves",
                                            "bar",    "heatmap",   "scatter"};
  std::vector<SchemaField> fields = {
      {"version", K::kInteger, true, "", "format of the file: 1", {}, 1, 1},
      {"id", K::kText, true, "", "family/artifact; the family is the folder's"},
      {"protocol", K::kText, true, "", "measuring protocol, see `retable list --protocols`"},
      {"title", K::kText, true, "", "one line, shown above the table"},
      {"question", K::kText, true, "", "the question this experiment answers"},
      {"citation", K::kText, true, "", "author, year, chapter"},
      {"where", K::kText, false, "", "page and table or figure in the work"},
      {"datasets", K::kTextArray, true, "", "data sets, groups (cc18, embedded) or generators"},
      {"seed", K::kInteger, false, "1", "seed of everything random", {}, 0, 9.0e15},
      {"repeats",
       K::kInteger,
       false,
       "1",
       "samples per cell; of a time the fewest, where its budget holds them",
       {},
       1,
       1000000},
      {"time_limit",
       K::kReal,
       false,
       "600",
       "seconds a cell may take before it is stopped",
       {},
       0.01,
       1e6},
      {"memory_limit",
       K::kReal,
       false,
       "8192",
       "MiB of resident memory a cell may use",
       {},
       16,
       1e7},
      {"exclusive", K::kSwitch, false, "false", "true: timed cells, nothing else runs beside them"},
      {"group", K::kText, false, "",
       "timed cells of one device that are compared, by a text such as {dataset}: cells of equal "
       "text are measured in one stretch; empty: all"},
      {"notes", K::kTextArray, false, "[]", "sentences shown with the result"},
      {"coverage_total",
       K::kInteger,
       false,
       "0",
       "samples the work measured (14072 columns); the report states our share",
       {},
       0,
       1e12},
      {"coverage_unit", K::kText, false, "samples", "what a sample is: columns"},
      {"axes", K::kOpenTable, false, "",
       "axes of the sweep: name = [values]; defaults: `retable list --protocols`"},
      {"settings", K::kOpenTable, false, "", "settings of the protocol"},
      {"algorithm", K::kTableArray, true, "", "contenders, in the order of the rows"},
      {"algorithm[].name", K::kText, true, "",
       "registered name; further keys are its parameters, an array sweeps"},
      {"algorithm[].device", K::kText, false, "cpu", "cpu or cuda", devices},
      {"algorithm[].label", K::kText, false, "{name}", "row label; {l} stands for a parameter"},
      {"table", K::kTable, false, "", "the layout of the paper's table"},
      {"table.rows", K::kText, false, "{label}",
       "row name: {label}, {dataset}, an axis or a parameter"},
      {"table.row_header", K::kText, false, "Estimator", "heading of the first column"},
      {"table.pivot", K::kText, false, "",
       "columns from a template, such as \"{label}\", each as the one of table.columns"},
      {"table.over", K::kTextArray, false, "",
       "axes and parameters whose values a table's value is of, together; others are told apart"},
      {"table.columns", K::kTableArray, false, "", "columns, in order"},
      {"table.columns[].name", K::kText, true, "", "heading, in the paper's words"},
      {"table.columns[].metric", K::kText, false, "",
       "metric of the protocol, see `retable list --protocols`"},
      {"table.columns[].statistic", K::kText, false, "median", "over all samples of the row",
       statistics},
      {"table.columns[].fact", K::kText, false, "", "instead of a metric: a fact of the cells"},
      {"table.columns[].group", K::kText, false, "", "only samples of this class"},
      {"table.columns[].where", K::kOpenTable, false, "",
       "only cells whose label, dataset, axis or parameter equals"},
      {"table.columns[].ratio", K::kTextArray, false, "", "[a, b]: column a divided by column b"},
      {"table.columns[].ratio_row", K::kText, false, "",
       "row of column b, as table.rows names it; default: the same row"},
      {"table.columns[].least", K::kTextArray, false, "",
       "[a, b, ...]: the least of these columns; those without a value are left out, a wrong "
       "answer is not"},
      {"table.columns[].called", K::kTextArray, false, "",
       "with least: names of its columns; that of the least stands here"},
      {"table.columns[].interval", K::kText, false, "",
       "column whose value stands here as a text, in two digits with its 95 % interval"},
      {"figure", K::kTable, false, "", "how the figure is drawn"},
      {"figure.kind", K::kText, true, "", "kind of figure", figures},
      {"figure.metric", K::kText, false, "", "metric drawn"},
      {"figure.x", K::kText, false, "",
       "axis on x; of a scatter figure the table's columns, \"Features; Depth\""},
      {"figure.per", K::kText, false, "",
       "columns and axes that a scatter figure divides the metric by: \"rows; Leaves\""},
      {"figure.panel", K::kText, false, "", "one panel per value of this"},
      {"figure.xscale", K::kText, false, "linear", "scale of x", {"linear", "log"}},
      {"figure.yscale", K::kText, false, "linear", "scale of y", {"linear", "log"}},
      {"figure.logx", K::kSwitch, false, "false", "histogram over log10 x"},
      {"figure.title", K::kText, false, "", "title"},
      {"figure.xlabel", K::kText, false, "", "label of x, with unit"},
      {"figure.ylabel", K::kText, false, "", "label of y, with unit"},
      {"figure.thresholds", K::kText, false, "",
       "metrics drawn as limits across a line figure: \"metric: name; ...\""},
      {"figure.caption", K::kText, false, "", "a sentence below"},
      {"claim", K::kTableArray, false, "", "sentences of the work as checks"},
      {"claim[].id", K::kText, true, "", "short name"},
      {"claim[].text", K::kText, true, "", "the claim in a plain sentence"},
      {"claim[].where", K::kText, false, "", "page in the work; empty for a claim of ours"},
      {"claim[].check", K::kText, true, "", "expression over the table, see docs/claims.md"},
      {"claim[].note", K::kText, false, "",
       "why it fails where it is known to fail; shown beside the verdict FAILS"},
      {"expected", K::kTable, false, "", "expected seconds per profile on two cores"},
      {"expected.smoke", K::kReal, false, "", "seconds", {}, 0, 1e7},
      {"expected.quick", K::kReal, false, "", "seconds", {}, 0, 1e7},
      {"expected.paper", K::kReal, false, "", "seconds", {}, 0, 1e7},
      {"profiles", K::kTable, false, "", "what a profile changes"},
  };
  for (const char* profile : {"smoke", "quick", "paper"}) {
    const std::string prefix = std::string("profiles.") + profile;
    fields.push_back({prefix, K::kTable, false, "", "changes for this profile"});
    fields.push_back({prefix + ".datasets", K::kTextArray, false, "", "instead of datasets"});
    fields.push_back(
        {prefix + ".repeats", K::kInteger, false, "", "instead of repeats", {}, 1, 1000000});
    fields.push_back({prefix + ".time_limit", K::kReal, false, "", "seconds", {}, 0.01, 1e6});
    fields.push_back({prefix + ".memory_limit", K::kReal, false, "", "MiB", {}, 16, 1e7});
    fields.push_back({prefix + ".seed", K::kInteger, false, "", "instead of seed", {}, 0, 9.0e15});
    fields.push_back({prefix + ".axes", K::kOpenTable, false, "", "instead of these axes"});
    fields.push_back({prefix + ".settings", K::kOpenTable, false, "", "instead of these settings"});
  }
  return fields;
}

}  // namespace

const std::vector<SchemaField>& ExperimentSchema() {
  static const std::vector<SchemaField> fields = MakeSchema();
  return fields;
}

std::vector<std::string> CheckSchema(const TomlTree& root) {
  Checker checker;
  checker.CheckTable(root, "");
  return checker.lines;
}

void WriteSchemaTable(std::ostream& out) {
  out << "| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const SchemaField& field : ExperimentSchema()) {
    std::string range;
    for (const auto& text : field.allowed) range += (range.empty() ? "" : ", ") + text;
    if (std::isfinite(field.low)) range = fmt::format("{:g} to {:g}", field.low, field.high);
    out << fmt::format("| `{}` | {} | {} | {} | {} |\n", field.path, KindName(field.kind),
                       field.required ? "required" : field.fallback, range, field.help);
  }
}

}  // namespace retable::harness
