#pragma once
//! @file
//! How an artifact's main figure went from recording to recording.
//!
//! The main figure is a cell of the table: the one that most of the folders have a value for, the
//! first of them in the table's order. Values of another machine or profile are named as such, not
//! left out: which points may be compared is for the reader to say.

#include <map>
#include <string>
#include <vector>

namespace retable::harness {

//! The main figure in one results folder.
struct HistoryPoint {
  std::string folder;                 //!< its name: "h200", "latest"
  std::string date, commit, machine;  //!< the artifact's last cells; may be unknown
  std::string profile, device, dataset;
  std::string row, column, unit;
  double value = 0, low = 0, high = 0;  //!< 95 % interval
};

//! By artifact, the oldest point first.
using History = std::map<std::string, std::vector<HistoryPoint>>;

struct HistoryQuery {
  std::vector<std::string> folders;
  std::vector<std::string> globs;  //!< artifacts by id or glob
  std::string row, column;         //!< the figure; empty: the main one
  //! A git work tree: earlier versions of the folders in it are read from its commits. Of versions
  //! with equal figures the first counts, whose commit the point bears. Empty: none.
  std::string repository;
};

//! Folders without the artifact, or without a value, give no point, nor do versions that today's
//! program cannot read. A folder that cannot be read is named on standard error.
History ReadHistory(const HistoryQuery& query);

//! {artifact: [{folder, commit, date, machine, profile, device, label, dataset, metric, unit,
//! median, low, high}]}: label is the row, metric the column.
std::string HistoryJson(const History& history);

//! The results folders in each of these folders.
std::vector<std::string> FoldersOf(const std::vector<std::string>& parents);

}  // namespace retable::harness
