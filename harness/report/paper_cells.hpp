#pragma once
//! @file
//! The published numbers of one table or figure, as transcribed in <artifact>.paper.csv.
//!
//! One line per cell, columns row, column, value, unit, kind, tolerance, group, page, table,
//! machine, note; unit and those from group on may be missing as columns. Comment lines begin with
//! '#'.
//!
//!   row, column  the names that the paper uses, and the experiment's table too
//!   value        as printed; empty when it cannot be read or the paper leaves it open (NO-DATA)
//!   kind         accuracy  a quality that should come out alike anywhere (error, AUC, discrepancy)
//!                ratio     of two measured things (a speed-up): 1 is the dividing line
//!                count     of events (failures, nodes)
//!                time      or throughput: absolute, of the paper's machine
//!                bound     "at most" or "at least": the value is written "<=14.5" or ">=0.95"
//!                setting   a fact of the data or a hyperparameter: judged as accuracy is, and
//!                          counted apart, for it says little that it agrees
//!   tolerance    "0.1" or "10%": relative to the value; "0.002abs": in the value's unit;
//!                "sampling(25)": the value is a standard deviation of 25 trials, and the band is
//!                the 95 % interval of the true one behind it: value * sqrt(24 / q), q the 97.5 %
//!                and 2.5 % quantiles of chi squared with 24 degrees of freedom (normal trials).
//!                Empty: 10 %, for ratio and time 20 %. For time it only says which rows the paper
//!                tells apart. A bound has none.
//!   group        the model or data set within which counts and times are set in order; empty: the
//!                data set of the row where it has a single one
//!   machine      of a time: "Tesla V100, 900 GB/s" or "2x Xeon E5-2698, 40 cores", so that the
//!                verdict tells how much of a measured speed-up the machine alone would bring
//!   note         shown where the paper gives no value; "failed": the paper's run gave no answer,
//!                and what it prints stands for that

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retable::harness {

enum class CellKind { kAccuracy, kRatio, kCount, kTime, kBound, kSetting };
std::string_view Name(CellKind kind);

//! Values that agree with a published one.
struct Band {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  //! Takes in the edges, to 1e-12 of them: a band that ends on a value must not lose it by its last
  //! bit.
  bool Holds(double value) const;
};

struct PublishedCell {
  std::string row, column;
  std::optional<double> value;
  std::string unit;
  CellKind kind = CellKind::kAccuracy;
  double tolerance = 0.1;
  bool absolute = false;    //!< the tolerance is in the value's unit
  std::int64_t trials = 0;  //!< "sampling(25)": 25, and the tolerance is not used
  bool at_most = false;     //!< a bound from above; else, of kind bound, from below
  std::string group, page, table, machine, note;
  std::int64_t line = 0;  //!< line number in the file

  //! What agrees with the value, which there must be.
  Band Agrees() const;
  //! The value as the work prints it: "14.5", "<=14.5", or nothing.
  std::string Text() const;
};

//! @throws CsvError at file:line for a wrong kind, number or tolerance, or a cell given twice
std::vector<PublishedCell> ReadPaperCells(const std::string& path);
//! @param file only named in errors
std::vector<PublishedCell> ParsePaperCells(std::string_view text, const std::string& file);

}  // namespace retable::harness
