#pragma once
//! @file
//! Values and numbers as JSON. Numbers keep all their digits; NaN and infinities are the texts
//! "nan", "inf", "-inf" (JSON has none).

#include <nlohmann/json_fwd.hpp>

#include "harness/protocol.hpp"

namespace retable::harness {

nlohmann::json NumberToJson(double value);
nlohmann::json ToJson(const Value& value);
nlohmann::json ToJson(const Values& values);

//! @throws nlohmann::json::exception (a std::exception) on a wrong shape
double NumberFromJson(const nlohmann::json& json);
Value ValueFromJson(const nlohmann::json& json);
Values ValuesFromJson(const nlohmann::json& json);

}  // namespace retable::harness
