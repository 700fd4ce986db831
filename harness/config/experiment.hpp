#pragma once
//! @file
//! One experiment as its TOML declares it: what is measured, on what, and how it is shown.
//!
//! Precedence: built in < experiment < profile < machine file < --set. All layers are merged on the
//! tree first and read once, so that a wrong value is reported where it was written.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/config/toml_tree.hpp"

namespace retable::harness {

//! An entry of `algorithm`; a parameter with several values sweeps.
struct AlgorithmEntry {
  std::string name;
  std::string device = "cpu";
  std::string label = "{name}";
  std::vector<std::pair<std::string, std::vector<Value>>> parameters;
  Position where;
};

//! A column of the paper's table.
struct ColumnSpec {
  std::string name;
  std::string metric;
  std::string statistic = "median";
  std::string fact;
  std::string group;
  std::map<std::string, std::string> where;
  std::string ratio_of, ratio_over;
  std::string ratio_row;              //!< row of `ratio_over`, a template; empty: the same row
  std::vector<std::string> least_of;  //!< columns of which the least value stands here
  std::vector<std::string> called;    //!< names instead of that value, one a column of least_of
  std::string interval_of;            //!< column whose value and interval are a text here

  bool operator==(const ColumnSpec&) const = default;
};

//! The layout of a table.
struct TableSpec {
  std::string rows = "{label}";
  std::string row_header = "Estimator";
  std::string pivot;
  std::vector<std::string> over;  //!< axes and parameters whose values a value is of, together
  std::vector<ColumnSpec> columns;
};

//! A sentence of the work, with its check (harness/report/claim.hpp).
struct ClaimSpec {
  std::string id, text, where, check;
  std::string note;   //!< why it fails where it is known to fail; shown there
  Position position;  //!< place of the check in its file
};

//! What the command line and the machine add to a file.
struct Overrides {
  std::string profile = "quick";
  std::string machine_file;              //!< optional TOML of overrides
  std::vector<std::string> assignments;  //!< --set key=value
  std::int64_t repeats = 0;              //!< --repeats; 0: not given
};

//! A resolved experiment.
struct Experiment {
  std::string id, family, artifact;  //!< "quantiles/table2", "quantiles", "table2"
  std::string protocol, title, question, citation, where;
  std::vector<std::pair<std::string, Position>> datasets;
  std::vector<AlgorithmEntry> algorithms;
  std::vector<std::pair<std::string, std::vector<Value>>> axes;
  std::map<std::string, std::pair<Value, Position>> settings;
  std::map<std::string, Position> axis_positions;
  std::map<std::string, Position> metrics;  //!< those that columns and the figure show
  std::int64_t seed = 1;
  std::int64_t repeats = 1;
  double time_limit = 600;     //!< seconds
  double memory_limit = 8192;  //!< MiB
  bool exclusive = false;
  std::string group;  //!< template: timed cells of equal text are measured in one stretch
  std::vector<std::string> notes;
  std::int64_t coverage_total = 0;
  std::string coverage_unit = "samples";
  TableSpec table;
  std::vector<std::pair<std::string, Value>> figure;  //!< empty: no figure
  std::vector<ClaimSpec> claims;
  std::map<std::string, double> expected;    //!< profile -> seconds
  std::string file;                          //!< path of the TOML
  std::string paper_file;                    //!< path of the .paper.csv, empty when there is none
  std::shared_ptr<const TomlTree> declared;  //!< the file's tree, before any layer
  Overrides given;                           //!< the layers
};

//! Resolves the text of a file, without an override or published cells. @throws ConfigError
Experiment ParseExperiment(const std::string& text, const std::string& shown_name);

//! The same experiment with other overrides, from the tree that was read. @throws ConfigError
Experiment WithOverrides(const Experiment& experiment, const Overrides& overrides);

//! Every TOML in any folder below `root`/experiments, in order; its published cells stand beside
//! it. Duplicate ids are an error naming both files.
std::vector<Experiment> LoadExperiments(const std::string& root, const Overrides& overrides);

}  // namespace retable::harness
