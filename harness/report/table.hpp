#pragma once
//! @file
//! The paper's table, filled from the cells of an artifact.
//!
//! A row gathers all cells whose row template agrees (over data sets, say); a column is a statistic
//! over all samples of a metric in those cells, a fact, or the ratio of two other columns. Failed
//! samples (NaN) are left out of the statistics, as the papers do, and counted in "failures".

#include <map>
#include <string>
#include <vector>

#include "harness/report/artifact.hpp"

namespace retable::harness {

//! One value of a table with its 95 % interval.
struct TableCell {
  bool has_value = false;
  double value = 0, ci_low = 0, ci_high = 0;
  std::int64_t n = 0;  //!< samples behind it
  std::string unit;
  std::string text;    //!< a fact that is a text
  std::string reason;  //!< why there is no value; with a value: what it leaves out
  bool not_run = false;
  bool unplanned = false;  //!< no cell of the plan would fill it
  bool failed = false;     //!< measured, but every sample failed
  bool broken = false;     //!< its method failed or answered wrongly; `reason` says how
  bool wrong = false;      //!< an answer behind it is wrong; it is `broken` then
  std::string partial;     //!< "3 of 4 cells are not measured yet": nothing is judged by it
  std::string dataset;     //!< the data set of the row, if it has a single one
  std::string unsteady;    //!< why the time behind it is not steady (harness/run/steadiness.hpp)
};

struct Table {
  std::string row_header;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::map<std::pair<std::string, std::string>, TableCell> cells;  //!< (row, column)
  std::map<std::string, std::string> coverage;  //!< CoverageText of each row's cells

  const TableCell* Find(const std::string& row, const std::string& column) const;
};

//! Fills the table. @throws ConfigError for a template that names nothing.
Table BuildTable(const Artifact& artifact);

//! The paper's layout as CSV.
std::string TableCsv(const Table& table);
//! One row per (cell, metric): every sample's summary.
std::string TidyCsv(const Artifact& artifact);
//! One row per sample, of the figure's metric alone when there are more than `limit`; empty text
//! when there are more of it too, or none.
std::string SamplesCsv(const Artifact& artifact, std::size_t limit);
//! One row per point of every curve; empty text when there is none.
std::string CurvesCsv(const Artifact& artifact);
//! "5973 of 14072 columns on 36 data sets", from the samples of the first metric of the label that
//! has most.
std::string CoverageText(const Artifact& artifact);

}  // namespace retable::harness
