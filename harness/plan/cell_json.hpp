#pragma once
//! @file
//! Cells and outcomes as JSON: the format of cells/<key>.json and of the pipe to a worker.
//! Numbers are written with all their digits; NaN and infinities as the texts "nan", "inf", "-inf"
//! (JSON has none).

#include <nlohmann/json_fwd.hpp>

#include "harness/protocol.hpp"

namespace retable::harness {

nlohmann::json ToJson(const Value& value);
nlohmann::json ToJson(const Values& values);
nlohmann::json ToJson(const CellConfig& cell);
nlohmann::json ToJson(const Outcome& outcome);

//! @throws nlohmann::json::exception (a std::exception) on a wrong shape
Value ValueFromJson(const nlohmann::json& json);
Values ValuesFromJson(const nlohmann::json& json);
CellConfig CellFromJson(const nlohmann::json& json);
Outcome OutcomeFromJson(const nlohmann::json& json);

}  // namespace retable::harness
