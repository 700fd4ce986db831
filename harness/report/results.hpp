#pragma once
//! @file
//! What a results folder shows: tables, tidy CSVs, verdicts, claims and the run's record.
//!
//! They are made from the cells. A recording is unpacked first (harness/record/record.hpp), and has
//! the layout, the claims and the published cells that its experiments have today.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/report/artifact.hpp"

namespace retable::harness {

//! What a run was, for run.json and the head of the report.
struct RunRecord {
  std::string profile, device, started, finished, command;
  double seconds = 0;
  std::vector<std::string> banner;  //!< sentences for the top of the report
  std::map<std::string, int> counts;
  std::map<std::string, std::map<std::string, int>> reasons;  //!< not_run, skipped -> why -> cells
  int timed = 0, unsteady = 0;  //!< cells with a time, and those of them that are not steady
  double expected_seconds = 0;  //!< the forecast at its start
};

//! Published cells that one thing would bring.
struct Lack {
  int cells = 0;
  std::set<std::string> datasets;  //!< data sets that can be fetched
};

//! How many of each verdict and claim there are.
struct Scoreboard {
  std::map<std::string, int> verdicts;  //!< "MATCH" -> 12, of all kinds but settings
  std::map<std::string, int> settings;  //!< the same of settings
  std::map<std::string, int> claims;    //!< "HOLDS" -> 9
  //! "quantiles/table2 naive-degrades: text (figures)", with a note or without.
  std::vector<std::string> noted_claims, unnoted_claims;
  std::vector<std::string> failed;    //!< "quantiles/table2 [row, column]: reason"
  std::map<std::string, Lack> lacks;  //!< what published cells that were not run need
  //! Cells without a right answer: key -> "quantiles/table2 KLL on iris: crash".
  std::map<std::string, std::string> broken;
  bool damaged = false;                //!< a cell's file is damaged, and counts as not measured
  int partial = 0;                     //!< published cells not judged while cells are unmeasured
  std::map<std::string, int> origins;  //!< Origin::Text() -> artifacts with cells of it

  //! Something was not reproduced: MISMATCH, ORDER-ONLY, FAILED, a claim that fails, or a cell
  //! without a right answer.
  bool FailsStrictly() const;
};

//! Verdicts and claims, now; writes nothing.
//! @throws StoreError, ConfigError, CsvError
Scoreboard JudgeResults(const std::string& folder);

//! The same, and rebuilds every file derived from the cells. @throws the same
//! @param today a root whose experiments/ say layout, claims and published cells; empty: those that
//! the cells were measured with stay
Scoreboard WriteResults(const std::string& folder, const std::string& today = {});

//! Declares the artifacts of a folder as the experiments of `root` do: layout, claims and copy of
//! the published cells. Rows keep the labels, and cells the parameters, that they were measured
//! with. @throws the same
void DeclareAnew(const std::string& folder, const std::string& root);

//! Writes run.json.
void WriteRun(const std::string& folder, const RunRecord& record);

}  // namespace retable::harness
