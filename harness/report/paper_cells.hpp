#pragma once
//! @file
//! The published numbers of one table or figure, as transcribed in <artifact>.paper.csv.
//!
//! One line per cell, columns row, column, value, unit, kind, tolerance, page, table, note (unit,
//! page, table and note may be missing as columns). Comment lines begin with '#'.
//!
//!   row, column  the names that the paper uses, and the experiment's table too
//!   value        as printed; empty when it cannot be read or the paper leaves it open (NO-DATA)
//!   kind         accuracy  a quality that should come out alike anywhere (error, AUC, discrepancy)
//!                ratio     of two measured things (a speed-up): 1 is the dividing line
//!                count     of events (failures, nodes)
//!                time      or throughput: absolute, of the paper's machine
//!   tolerance    "0.1" or "10%": relative to the value; "0.002abs": in the value's unit. Empty:
//!                10 % for accuracy and count, 20 % for ratio and time. For time it only says which
//!                rows the paper tells apart.
//!   note         shown where the paper gives no value; "failed": the paper's run gave no answer,
//!                and what it prints stands for that

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retable::harness {

enum class CellKind { kAccuracy, kRatio, kCount, kTime };
std::string_view Name(CellKind kind);

struct PublishedCell {
  std::string row, column;
  std::optional<double> value;
  std::string unit;
  CellKind kind = CellKind::kAccuracy;
  double tolerance = 0.1;
  bool absolute = false;  //!< the tolerance is in the value's unit
  std::string page, table, note;
  std::int64_t line = 0;  //!< line number in the file

  //! The tolerance in the value's unit; 0 without a value.
  double Margin() const;
};

//! @throws CsvError at file:line for a wrong kind, number or tolerance, or a cell given twice
std::vector<PublishedCell> ReadPaperCells(const std::string& path);
//! @param file only named in errors
std::vector<PublishedCell> ParsePaperCells(std::string_view text, const std::string& file);

}  // namespace retable::harness
