#pragma once
//! @file
//! From an experiment to its cells: the cross product, resolved and keyed.
//!
//! A cell's key is the SHA-256 of everything that decides its numbers: algorithm, device class,
//! parameters, data (by hash), axes, protocol, settings, seed, repeats, and a hash of the family's
//! sources taken at build. The experiment's id and the row's label are left out, so that a figure
//! and a table over the same cells share them, and a renamed row is not measured again.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/config/experiment.hpp"

namespace retable::harness {

struct PlannedCell {
  CellConfig config;
  std::string key;
  std::optional<std::string> not_run;  //!< a reason known before running
  double time_limit = 0;               //!< seconds
  double memory_limit = 0;             //!< MiB
  bool exclusive = false;
  std::string group;  //!< "cuda", "cpu, adult-small": its group of the experiment; empty: untimed
};

//! A row that a profile has.
struct ProfileRow {
  std::string name;
  std::string dataset;  //!< as the file names it; empty when the row gathers several
  bool cuda = false;    //!< all its cells need a CUDA device
};

//! What the table of a profile is made of, by the names in the file alone
//! (harness/report/missing_cell.hpp).
struct ProfileNames {
  std::string profile;
  std::vector<ProfileRow> rows;
  std::vector<std::string> columns;
};

struct Plan {
  Experiment experiment;
  std::vector<PlannedCell> cells;
  std::vector<DatasetInfo> datasets;   //!< present and absent
  std::vector<ProfileNames> profiles;  //!< this one and the others; may be empty
};

//! Which devices may be used, and what they are.
struct Devices {
  bool cpu = true;
  bool cuda = false;
#if defined(RETABLE_HAS_CUDA)
  bool cuda_built = true;
#else
  bool cuda_built = false;  //!< CUDA methods are not in this program at all
#endif
  std::string cuda_reason;               //!< why there is none
  std::string cuda_class = "no device";  //!< "NVIDIA H200 sm_90"
  std::string cpu_class = "cpu";
};

//! Expands an experiment. @throws ConfigError for an unknown protocol, algorithm, parameter, data
//! set, axis or name in a template, each with the nearest name; for a cell that is planned twice.
Plan MakePlan(const Experiment& experiment, const Devices& devices);

//! Visits the cells of an experiment by the names its file gives: no data is looked for, groups of
//! data sets are not expanded. @param resolved of all data sets that these names stand for, at hand
//! or not @throws ConfigError like MakePlan
void VisitNominalCells(const Experiment& experiment, const Devices& devices, bool resolved,
                       const std::function<void(const CellConfig&)>& visit);

//! SHA-256 (64 hexadecimal digits) of the resolved cell, the sources of its family and the files
//! that its command names.
std::string CellKey(const CellConfig& config, const std::string& device_class);

//! "RETABLE_TRAINING_ROWS=500 ": the variable that decides cells as words of a command do, to stand
//! before a command that repeats one; empty where it is not set.
std::string PlanVariables();

//! The hash of a family's sources, taken when the program was built.
std::string FamilySourceHash(const std::string& family);

//! Replaces {name} by the cell's label, algorithm, device, dataset, an axis or a parameter.
//! @param where the text stands; the experiment where it is not known. @throws ConfigError
std::string ExpandTemplate(const std::string& text, const CellConfig& cell,
                           const Position& where = {});

}  // namespace retable::harness
