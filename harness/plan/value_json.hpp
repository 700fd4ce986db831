#pragma once
//! @file
//! Values and numbers as JSON. Numbers keep all their digits; NaN and infinities are the texts
//! "nan", "inf", "-inf" (JSON has none).

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/protocol.hpp"

namespace retable::harness {

nlohmann::json NumberToJson(double value);
nlohmann::json ToJson(const Value& value);
nlohmann::json ToJson(const Values& values);

//! @throws nlohmann::json::exception (a std::exception) on a wrong shape
double NumberFromJson(const nlohmann::json& json);
Value ValueFromJson(const nlohmann::json& json);
Values ValuesFromJson(const nlohmann::json& json);

//! The value as text, in lines of such an indent unless it is negative. Bytes that are not UTF-8
//! (of a path, of what a contender wrote) become U+FFFD: a text that is told is better than none.
std::string JsonText(const nlohmann::json& value, int indent = -1);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace retable::harness
