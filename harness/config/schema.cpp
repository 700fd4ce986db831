#include "harness/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/config/suggest.hpp"

namespace retable::harness {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* KindName(SchemaKind kind) {
  switch (kind) {
    case SchemaKind::kText:
      return "text";
    case SchemaKind::kInteger:
      return "integer";
    case SchemaKind::kReal:
      return "number";
    case SchemaKind::kSwitch:
      return "true/false";
    case SchemaKind::kTextArray:
      return "array of texts";
    case SchemaKind::kTable:
      return "table";
    case SchemaKind::kTableArray:
      return "array of tables";
    case SchemaKind::kOpenTable:
      return "table, its keys checked by the protocol";
  }
  return "";
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
      return node.is_array() && std::all_of(node.array().begin(), node.array().end(), [](auto& n) {
               return std::holds_alternative<std::string>(n.data);
             });
    case SchemaKind::kTable:
    case SchemaKind::kOpenTable:
      return node.is_table();
    case SchemaKind::kTableArray:
      return node.is_array() && std::all_of(node.array().begin(), node.array().end(),
                                            [](auto& n) { return n.is_table(); });
  }
  return false;
}

double AsReal(const TomlTree& node) {
  if (const auto* whole = std::get_if<std::int64_t>(&node.data)) return static_cast<double>(*whole);
  return std::get<double>(node.data);
}

class Checker {
 public:
  explicit Checker(const std::vector<SchemaField>& fields) : fields_(fields) {}

  std::vector<std::string> lines;

  void CheckTable(const TomlTree& table, const std::string& prefix) {
    for (const auto& [key, value] : table.table()) CheckMember(key, value, prefix);
    for (const SchemaField& field : fields_) {
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
    for (const SchemaField& field : fields_) {
      if (field.path == path) return &field;
    }
    return nullptr;
  }

  void CheckMember(const std::string& key, const TomlTree& value, const std::string& prefix) {
    const SchemaField* field = Find(Join(prefix, key));
    if (!field) field = Find(Join(prefix, "*"));
    if (!field) {
      std::vector<std::string> known;
      for (const SchemaField& f : fields_) {
        if (Parent(f.path) == prefix && Leaf(f.path) != "*") known.push_back(Leaf(f.path));
      }
      const SchemaField* self = Find(prefix);
      if (self && self->kind == SchemaKind::kOpenTable) return;  // the protocol checks these
      if (OpenMembers(prefix)) return;
      lines.push_back(fmt::format("{}: unknown key \"{}\"{}{}", value.where.text(), key,
                                  prefix.empty() ? "" : " in [" + prefix + "]",
                                  DidYouMean(key, known)));
      return;
    }
    CheckValue(value, *field);
  }

  // An [[algorithm]] takes its own parameters beside the declared keys; the protocol checks those.
  static bool OpenMembers(const std::string& prefix) { return prefix == "algorithm[]"; }

  void CheckValue(const TomlTree& value, const SchemaField& field) {
    if (!HasKind(value, field.kind)) {
      lines.push_back(fmt::format("{}: {} must be {} ({}), found {} {}", value.where.text(),
                                  field.path, KindName(field.kind), field.help, value.kind(),
                                  value.text()));
      return;
    }
    if (field.kind == SchemaKind::kInteger || field.kind == SchemaKind::kReal) {
      const double number = AsReal(value);
      if (!(number >= field.low && number <= field.high)) {
        lines.push_back(fmt::format("{}: {} = {} is out of range; allowed: {} to {}",
                                    value.where.text(), field.path, value.text(), field.low,
                                    field.high));
      }
    }
    if (field.kind == SchemaKind::kText && !field.allowed.empty()) {
      const auto& text = std::get<std::string>(value.data);
      if (std::find(field.allowed.begin(), field.allowed.end(), text) == field.allowed.end()) {
        lines.push_back(fmt::format("{}: {} cannot be \"{}\"{}", value.where.text(), field.path,
                                    text, DidYouMean(text, field.allowed)));
      }
    }
    if (field.kind == SchemaKind::kTable) CheckTable(value, field.path);
    if (field.kind == SchemaKind::kTableArray) {
      for (const TomlTree& item : value.array()) CheckTable(item, field.path + "[]");
    }
  }

  const std::vector<SchemaField>& fields_;
};

std::vector<SchemaField> MakeSchema() {
  using K = SchemaKind;
  const std::vector<std::string> devices = {"cpu", "cuda"};
  const std::vector<std::string> statistics = {
      "mean", "std", "median", "min", "max", "failures", "n", "mean_by_dataset", "sum", "share"};
  const std::vector<std::string> figures = {"violin", "histogram", "line",   "curves",
                                            "bar",    "heatmap",   "scatter"};
  std::vector<SchemaField> fields = {
      {"version", K::kInteger, true, "", 1, 1, {}, "format of the file: 1"},
      {"id",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "family/artifact, as in the file's path"},
      {"protocol",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "measuring protocol, see `retable list --protocols`"},
      {"title", K::kText, true, "", -kInfinity, kInfinity, {}, "one line, shown above the table"},
      {"question",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "the question this experiment answers"},
      {"citation", K::kText, true, "", -kInfinity, kInfinity, {}, "author, year, chapter"},
      {"where",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "page and table or figure in the work"},
      {"datasets",
       K::kTextArray,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "data sets, groups (cc18, embedded) or generators"},
      {"seed", K::kInteger, false, "1", 0, 9.0e15, {}, "seed of everything random"},
      {"repeats", K::kInteger, false, "1", 1, 1000000, {}, "samples per cell"},
      {"time_limit",
       K::kReal,
       false,
       "600",
       0.01,
       1e6,
       {},
       "seconds a cell may take before it is stopped"},
      {"memory_limit",
       K::kReal,
       false,
       "8192",
       16,
       1e7,
       {},
       "MiB of resident memory a cell may use"},
      {"exclusive",
       K::kSwitch,
       false,
       "false",
       -kInfinity,
       kInfinity,
       {},
       "true: timed cells, nothing else runs beside them"},
      {"group",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "timed cells of one device that are compared, by a text such as {dataset}: cells of equal "
       "text "
       "are measured in one stretch; empty: all"},
      {"notes",
       K::kTextArray,
       false,
       "[]",
       -kInfinity,
       kInfinity,
       {},
       "sentences shown with the result"},
      {"coverage_total",
       K::kInteger,
       false,
       "0",
       0,
       1e12,
       {},
       "samples the work measured (14072 columns); the report states our share"},
      {"coverage_unit",
       K::kText,
       false,
       "samples",
       -kInfinity,
       kInfinity,
       {},
       "what a sample is: columns"},
      {"axes",
       K::kOpenTable,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "axes of the sweep: name = [values]"},
      {"settings", K::kOpenTable, false, "", -kInfinity, kInfinity, {}, "settings of the protocol"},
      {"algorithm",
       K::kTableArray,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "contenders, in the order of the rows"},
      {"algorithm[].name",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "registered name; further keys are its parameters, an array sweeps"},
      {"algorithm[].device", K::kText, false, "cpu", -kInfinity, kInfinity, devices, "cpu or cuda"},
      {"algorithm[].label",
       K::kText,
       false,
       "{name}",
       -kInfinity,
       kInfinity,
       {},
       "row label; {l} stands for a parameter"},
      {"table", K::kTable, false, "", -kInfinity, kInfinity, {}, "the layout of the paper's table"},
      {"table.rows",
       K::kText,
       false,
       "{label}",
       -kInfinity,
       kInfinity,
       {},
       "row name: {label}, {dataset}, an axis or a parameter"},
      {"table.row_header",
       K::kText,
       false,
       "Estimator",
       -kInfinity,
       kInfinity,
       {},
       "heading of the first column"},
      {"table.pivot",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "columns from a template, such as \"{label}\""},
      {"table.columns", K::kTableArray, false, "", -kInfinity, kInfinity, {}, "columns, in order"},
      {"table.columns[].name",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "heading, in the paper's words"},
      {"table.columns[].metric",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "metric of the protocol"},
      {"table.columns[].statistic", K::kText, false, "median", -kInfinity, kInfinity, statistics,
       "over all samples of the row"},
      {"table.columns[].fact",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "instead of a metric: a fact of the cells"},
      {"table.columns[].group",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "only samples of this class"},
      {"table.columns[].where",
       K::kOpenTable,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "only cells whose label, dataset, axis or parameter equals"},
      {"table.columns[].ratio",
       K::kTextArray,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "[a, b]: column a divided by column b"},
      {"table.columns[].ratio_row",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "row of column b, as table.rows names it; default: the same row"},
      {"table.columns[].least",
       K::kTextArray,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "[a, b, ...]: the least of these columns; those without a value are left out, a wrong "
       "answer is not"},
      {"table.columns[].called",
       K::kTextArray,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "with least: names of its columns; that of the least stands here"},
      {"table.columns[].interval",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "column whose value stands here as a text, in two digits with its 95 % interval"},
      {"figure", K::kTable, false, "", -kInfinity, kInfinity, {}, "how the figure is drawn"},
      {"figure.kind", K::kText, true, "", -kInfinity, kInfinity, figures, "kind of figure"},
      {"figure.metric", K::kText, false, "", -kInfinity, kInfinity, {}, "metric drawn"},
      {"figure.x",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "axis on x; of a scatter figure the table's columns, \"Features; Depth\""},
      {"figure.per",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "columns and axes that a scatter figure divides the metric by: \"rows; Leaves\""},
      {"figure.panel",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "one panel per value of this"},
      {"figure.xscale",
       K::kText,
       false,
       "linear",
       -kInfinity,
       kInfinity,
       {"linear", "log"},
       "scale of x"},
      {"figure.yscale",
       K::kText,
       false,
       "linear",
       -kInfinity,
       kInfinity,
       {"linear", "log"},
       "scale of y"},
      {"figure.logx",
       K::kSwitch,
       false,
       "false",
       -kInfinity,
       kInfinity,
       {},
       "histogram over log10 x"},
      {"figure.title", K::kText, false, "", -kInfinity, kInfinity, {}, "title"},
      {"figure.xlabel", K::kText, false, "", -kInfinity, kInfinity, {}, "label of x, with unit"},
      {"figure.ylabel", K::kText, false, "", -kInfinity, kInfinity, {}, "label of y, with unit"},
      {"figure.thresholds",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "metrics drawn as limits across a line figure: \"metric: name; ...\""},
      {"figure.caption", K::kText, false, "", -kInfinity, kInfinity, {}, "a sentence below"},
      {"figure.xlim", K::kTable, false, "", -kInfinity, kInfinity, {}, "{low, high}"},
      {"figure.xlim.low", K::kReal, false, "", -kInfinity, kInfinity, {}, "lower end"},
      {"figure.xlim.high", K::kReal, false, "", -kInfinity, kInfinity, {}, "upper end"},
      {"claim",
       K::kTableArray,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "sentences of the work as checks"},
      {"claim[].id", K::kText, true, "", -kInfinity, kInfinity, {}, "short name"},
      {"claim[].text",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "the claim in a plain sentence"},
      {"claim[].where",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "page in the work; empty for a claim of ours"},
      {"claim[].check",
       K::kText,
       true,
       "",
       -kInfinity,
       kInfinity,
       {},
       "expression over the table, see docs/claims.md"},
      {"claim[].note",
       K::kText,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "why it fails where it is known to fail; shown beside the verdict FAILS"},
      {"expected",
       K::kTable,
       false,
       "",
       -kInfinity,
       kInfinity,
       {},
       "expected seconds per profile on two cores"},
      {"expected.smoke", K::kReal, false, "", 0, 1e7, {}, "seconds"},
      {"expected.quick", K::kReal, false, "", 0, 1e7, {}, "seconds"},
      {"expected.paper", K::kReal, false, "", 0, 1e7, {}, "seconds"},
      {"profiles", K::kTable, false, "", -kInfinity, kInfinity, {}, "what a profile changes"},
  };
  for (const char* profile : {"smoke", "quick", "paper"}) {
    const std::string prefix = std::string("profiles.") + profile;
    fields.push_back(
        {prefix, K::kTable, false, "", -kInfinity, kInfinity, {}, "changes for this profile"});
    fields.push_back({prefix + ".datasets",
                      K::kTextArray,
                      false,
                      "",
                      -kInfinity,
                      kInfinity,
                      {},
                      "instead of datasets"});
    fields.push_back(
        {prefix + ".repeats", K::kInteger, false, "", 1, 1000000, {}, "instead of repeats"});
    fields.push_back({prefix + ".time_limit", K::kReal, false, "", 0.01, 1e6, {}, "seconds"});
    fields.push_back({prefix + ".memory_limit", K::kReal, false, "", 16, 1e7, {}, "MiB"});
    fields.push_back({prefix + ".seed", K::kInteger, false, "", 0, 9.0e15, {}, "instead of seed"});
    fields.push_back({prefix + ".axes",
                      K::kOpenTable,
                      false,
                      "",
                      -kInfinity,
                      kInfinity,
                      {},
                      "instead of these axes"});
    fields.push_back({prefix + ".settings",
                      K::kOpenTable,
                      false,
                      "",
                      -kInfinity,
                      kInfinity,
                      {},
                      "instead of these settings"});
  }
  return fields;
}

}  // namespace

const std::vector<SchemaField>& ExperimentSchema() {
  static const std::vector<SchemaField> fields = MakeSchema();
  return fields;
}

std::vector<std::string> CheckSchema(const TomlTree& root, const std::vector<SchemaField>& fields) {
  Checker checker(fields);
  checker.CheckTable(root, "");
  return checker.lines;
}

void WriteSchemaTable(std::ostream& out, const std::vector<SchemaField>& fields) {
  out << "| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const SchemaField& field : fields) {
    std::string range;
    for (const auto& text : field.allowed) range += (range.empty() ? "" : ", ") + text;
    if (std::isfinite(field.low)) range = fmt::format("{:g} to {:g}", field.low, field.high);
    out << fmt::format("| `{}` | {} | {} | {} | {} |\n", field.path, KindName(field.kind),
                       field.required ? "required" : field.fallback, range, field.help);
  }
}

}  // namespace retable::harness
