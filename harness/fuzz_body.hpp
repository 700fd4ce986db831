#pragma once
//! @file
//! What the fuzz target does with a file that the harness reads; a test does the same with the
//! corpus, so that every build covers it. The first line says what kind of file the rest is:
//! "experiment", "paper", "cell" or "check". Whatever the bytes, there is a result, or the kind of
//! error that the reader promises.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/experiment.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/report/claim.hpp"
#include "harness/report/csv.hpp"
#include "harness/report/paper_cells.hpp"

namespace retable::harness {

inline bool FuzzExperiment(const std::string& text) {
  // toml++ 3.3 marks a place as unreachable that a letter beyond ASCII outside of quotes reaches.
  if (std::any_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; })) return false;
  try {
    const Experiment experiment = ParseExperiment(text, "fuzz.toml");
    if (experiment.family + "/" + experiment.artifact != experiment.id) std::abort();
    return true;
  } catch (const ConfigError& error) {
    if (error.lines().empty()) std::abort();
    return false;
  }
}

inline bool FuzzPaperCells(std::string_view text) {
  try {
    for (const PublishedCell& cell : ParsePaperCells(text, "fuzz.csv")) {
      if (cell.row.empty() || cell.column.empty() || !(cell.tolerance >= 0)) std::abort();
    }
    return true;
  } catch (const CsvError&) {
    return false;
  }
}

//! The outcome that a worker sends and a cell's file holds: what is read is written the same again.
inline bool FuzzCell(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    const auto outcome = ToJson(OutcomeFromJson(json));
    if (ToJson(OutcomeFromJson(outcome)) != outcome) std::abort();
    const auto cell = ToJson(CellFromJson(json.at("cell")));
    if (ToJson(CellFromJson(cell)) != cell) std::abort();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

struct FuzzTable final : TableView {
  std::vector<std::string> rows() const override { return {"a", "b"}; }
  std::vector<std::string> columns() const override { return {"x", "y"}; }
  std::optional<double> value(const std::string& row, const std::string& column) const override {
    if (row == "b" && column == "y") return {};
    return row == "a" ? 1.5 : std::nan("");
  }
  std::optional<double> paper(const std::string&, const std::string&) const override { return 2; }
};

inline bool FuzzCheck(std::string_view text) {
  try {
    CheckSyntax(text);
    int loops = 0;  // a loop in a loop takes time, as is its author's right
    for (auto at = text.find("in"); at != text.npos; at = text.find("in", at + 1)) ++loops;
    if (loops <= 6) Evaluate(text, FuzzTable());
    return true;
  } catch (const ExpressionError& error) {
    if (error.position > text.size() + 1) std::abort();
    return false;
  }
}

//! @return whether the file was good
inline bool FuzzFile(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto end = bytes.find('\n');
  if (end == bytes.npos) return false;
  const std::string_view kind = bytes.substr(0, end), text = bytes.substr(end + 1);
  if (kind == "experiment") return FuzzExperiment(std::string(text));
  if (kind == "paper") return FuzzPaperCells(text);
  if (kind == "cell") return FuzzCell(text);
  return kind == "check" && FuzzCheck(text);
}

}  // namespace retable::harness
