#include "harness/plan/cell_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace retable::harness {
namespace {

using nlohmann::json;

json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double NumberFrom(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

json Numbers(const std::vector<double>& values) {
  json array = json::array();
  for (double value : values) array.push_back(Number(value));
  return array;
}

std::vector<double> NumbersFrom(const json& array) {
  std::vector<double> values;
  for (const json& item : array) values.push_back(NumberFrom(item));
  return values;
}

}  // namespace

json ToJson(const Value& value) {
  return std::visit([](const auto& v) -> json { return v; }, value);
}

json ToJson(const Values& values) {
  json object = json::object();
  for (const auto& [name, value] : values) object[name] = ToJson(value);
  return object;
}

Value ValueFromJson(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.get<std::string>();
}

Values ValuesFromJson(const json& object) {
  Values values;
  for (const auto& [name, value] : object.items()) values[name] = ValueFromJson(value);
  return values;
}

json ToJson(const CellConfig& c) {
  return {{"experiment", c.experiment},
          {"family", c.family},
          {"protocol", c.protocol},
          {"algorithm", c.algorithm},
          {"label", c.label},
          {"device", c.device},
          {"dataset", c.dataset},
          {"dataset_sha256", c.dataset_sha256},
          {"parameters", ToJson(c.parameters)},
          {"axes", ToJson(c.axes)},
          {"settings", ToJson(c.settings)},
          {"seed", c.seed},
          {"repeats", c.repeats}};
}

CellConfig CellFromJson(const json& j) {
  CellConfig c;
  c.experiment = j.at("experiment").get<std::string>();
  c.family = j.at("family").get<std::string>();
  c.protocol = j.at("protocol").get<std::string>();
  c.algorithm = j.at("algorithm").get<std::string>();
  c.label = j.at("label").get<std::string>();
  c.device = j.at("device").get<std::string>();
  c.dataset = j.at("dataset").get<std::string>();
  c.dataset_sha256 = j.at("dataset_sha256").get<std::string>();
  c.parameters = ValuesFromJson(j.at("parameters"));
  c.axes = ValuesFromJson(j.at("axes"));
  c.settings = ValuesFromJson(j.at("settings"));
  c.seed = j.at("seed").get<std::int64_t>();
  c.repeats = j.at("repeats").get<std::int64_t>();
  return c;
}

json ToJson(const Outcome& o) {
  json metrics = json::array();
  for (const Metric& m : o.metrics) {
    metrics.push_back({{"name", m.name},
                       {"unit", m.unit},
                       {"samples", Numbers(m.samples)},
                       {"groups", m.groups},
                       {"items", m.items}});
    if (!m.sm_mhz.empty()) metrics.back()["sm_mhz"] = Numbers(m.sm_mhz);
  }
  json costs = json::array();
  for (const Cost& c : o.costs) {
    costs.push_back(
        {{"ceiling", c.ceiling}, {"amount", Number(c.amount)}, {"parallel", c.parallel}});
  }
  json curves = json::array();
  for (const Curve& c : o.curves) {
    curves.push_back({{"name", c.name}, {"x", Numbers(c.x)}, {"y", Numbers(c.y)}});
  }
  const Verification& v = o.verification;
  return {{"status", o.status},
          {"reason", o.reason},
          {"metrics", metrics},
          {"curves", curves},
          {"verification",
           {{"done", v.done},
            {"ok", v.ok},
            {"metric", v.metric},
            {"value", Number(v.value)},
            {"threshold", Number(v.threshold)},
            {"reference", v.reference}}},
          {"facts", ToJson(o.facts)},
          {"costs", costs},
          {"attachments", o.attachments}};
}

Outcome OutcomeFromJson(const json& j) {
  Outcome o;
  o.status = j.at("status").get<std::string>();
  o.reason = j.at("reason").get<std::string>();
  for (const json& item : j.at("metrics")) {
    Metric m;
    m.name = item.at("name").get<std::string>();
    m.unit = item.at("unit").get<std::string>();
    m.samples = NumbersFrom(item.at("samples"));
    m.groups = item.at("groups").get<std::vector<std::string>>();
    m.items = item.at("items").get<std::vector<std::string>>();
    if (item.contains("sm_mhz")) m.sm_mhz = NumbersFrom(item.at("sm_mhz"));
    o.metrics.push_back(std::move(m));
  }
  for (const json& item : j.at("curves")) {
    o.curves.push_back(
        {item.at("name").get<std::string>(), NumbersFrom(item.at("x")), NumbersFrom(item.at("y"))});
  }
  const json& v = j.at("verification");
  o.verification = {v.at("done").get<bool>(),          v.at("ok").get<bool>(),
                    v.at("metric").get<std::string>(), NumberFrom(v.at("value")),
                    NumberFrom(v.at("threshold")),     v.at("reference").get<std::string>()};
  o.facts = ValuesFromJson(j.at("facts"));
  // Cells stored before costs were declared have none.
  for (const json& item : j.value("costs", json::array())) {
    o.costs.push_back({item.at("ceiling").get<std::string>(), NumberFrom(item.at("amount")),
                       item.at("parallel").get<bool>()});
  }
  o.attachments = j.at("attachments").get<std::map<std::string, std::string>>();
  return o;
}

}  // namespace retable::harness
