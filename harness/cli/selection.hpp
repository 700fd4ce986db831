#pragma once
//! @file
//! Which cells a verb measures: the options that `run`, `compare` and `noise` share, and the plans
//! that they select.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/cli/context.hpp"
#include "harness/plan/plan.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace retable::harness {

//! Whether the program holds the family: a build may leave some out (RETABLE_ONLY).
bool FamilyIsBuilt(const std::string& family);

struct Selection {
  std::vector<std::string> globs;  //!< experiments by id or glob
  std::string profile = "quick";
  std::string device = "auto";
  std::string out = "results/latest";
  std::vector<std::string> assignments;  //!< --set key=value
  std::string machine_file;              //!< TOML of overrides; empty: none
  std::int64_t repeats = 0;              //!< 0: as the experiment says
};

//! Adds the options, without the globs: each verb names its experiments in its own way.
void AddSelection(CLI::App& verb, Selection& selection);

//! What `wanted` ("auto", "cpu", "cuda") may use here. @throws ConfigError where CUDA is asked for
//! and there is no device
Devices FindDevices(const std::string& wanted);

//! The names that every profile of a planned experiment has. A profile whose settings are wrong is
//! left out; that is said when it is asked for. @param resolved as in VisitNominalCells
std::vector<ProfileNames> NamesOfProfiles(const Experiment& experiment, const Selection& selection,
                                          const Devices& devices, bool resolved);

//! The plans of the selected experiments; says on `err` when there are none. @throws ConfigError
std::vector<Plan> MakePlans(const Context& context, const Selection& selection,
                            const Devices& devices, std::ostream& err);

}  // namespace retable::harness
