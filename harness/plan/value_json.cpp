#include "harness/plan/value_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace retable::harness {

using nlohmann::json;

json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double NumberFromJson(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error("there is " + JsonText(value) +
                           " in place of a number (or \"nan\", \"inf\", \"-inf\")");
}

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

std::string JsonText(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonText(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace retable::harness
