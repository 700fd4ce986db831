#pragma once
//! @file
//! What a results folder shows: tables, tidy CSVs, verdicts, claims and the run's record.
//!
//! They are made from the cells. An artifact whose cells are not in the folder (results/recorded/)
//! is judged by its recorded rows of verdicts.csv and claims.csv, and none of its files is written.

#include <map>
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
};

//! How many of each verdict and claim there are.
struct Scoreboard {
  std::map<std::string, int> verdicts;     //!< "MATCH" -> 12
  std::map<std::string, int> claims;       //!< "HOLDS" -> 9
  std::vector<std::string> failed_claims;  //!< "quantiles/table2 naive-degrades: text (figures)"
  std::vector<std::string> mismatches;     //!< "quantiles/table2 [row, column]: paper, measured"
  int recorded = 0;                        //!< artifacts judged by what was recorded
  std::vector<std::string> not_judged;     //!< those of them of which there is no row: id and file
};

//! Verdicts and claims, now; writes nothing. @throws StoreError, ConfigError, CsvError
Scoreboard JudgeResults(const std::string& folder);

//! The same, and rebuilds every file derived from the cells. @throws the same
Scoreboard WriteResults(const std::string& folder);

//! Writes run.json.
void WriteRun(const std::string& folder, const RunRecord& record);

//! A short table of the scoreboard for the terminal.
std::string ScoreboardText(const Scoreboard& board);

}  // namespace retable::harness
