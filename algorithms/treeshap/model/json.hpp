#pragma once
//! @file
//! Checked access to parsed JSON for the model readers. Internal: include from .cpp files only.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/common/require.hpp"
#include "base/csv/number.hpp"

namespace retable::treeshap::detail {

using Json = nlohmann::json;

//! Parses text. @throws std::invalid_argument with the parser's position.
inline Json ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the model is not valid JSON: ") + error.what());
  }
}

//! The member, with its path in the message when it is missing.
inline const Json& Member(const Json& object, const char* name) {
  Require(object.is_object() && object.contains(name), "the model has no \"", name,
          "\"; the file is damaged or of another format");
  return object.at(name);
}

//! Numbers come as numbers, or as strings ("5E-1") in XGBoost's parameters.
inline double Number(const Json& value, const char* name) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_string()) {
    if (const auto number = ParseNumber(value.get_ref<const std::string&>())) return *number;
  }
  throw std::invalid_argument(std::string("\"") + name + "\" is not a number");
}

//! An integer in [low, high].
inline std::int32_t Integer(double number, const char* name, double low, double high) {
  Require(number >= low && number <= high &&
              number == static_cast<double>(static_cast<long long>(number)),
          "\"", name, "\" is out of range");
  return static_cast<std::int32_t>(number);
}
inline std::int32_t Integer(const Json& value, const char* name, double low, double high) {
  return Integer(Number(value, name), name, low, high);
}

//! An array of exactly `count` entries.
inline const Json& Array(const Json& object, const char* name, std::size_t count) {
  const Json& array = Member(object, name);
  Require(array.is_array() && array.size() == count, "\"", name, "\" should be a list of ", count,
          " entries; the file is damaged");
  return array;
}

}  // namespace retable::treeshap::detail
