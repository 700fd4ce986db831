#pragma once
//! @file
//! Cells and outcomes as JSON: the format of cells/<key>.json and of the pipe to a worker.

#include <nlohmann/json_fwd.hpp>

#include "harness/plan/value_json.hpp"
#include "harness/protocol.hpp"

namespace retable::harness {

nlohmann::json ToJson(const CellConfig& cell);
nlohmann::json ToJson(const Outcome& outcome);

//! @throws nlohmann::json::exception (a std::exception) on a wrong shape
CellConfig CellFromJson(const nlohmann::json& json);
Outcome OutcomeFromJson(const nlohmann::json& json);

}  // namespace retable::harness
