#pragma once
//! @file
//! Cells that a table compares are measured in one stretch: by one commit, on one machine since it
//! was started, GPU rows on one card (StretchOf). Such cells are a group: the timed cells of an
//! experiment on one device, divided by what its TOML calls `group`. Experiments that share a cell
//! share its group.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"

namespace retable::harness {

//! One cell's turn in a dry run or a run, and why.
struct Decision {
  const PlannedCell* cell = nullptr;
  bool measure = false;
  bool stored = false;      //!< there is a record that can be shown
  std::string why;          //!< "stored (ok)", "not measured yet", "stored status timeout"
  std::string environment;  //!< the stored record's
  double seconds = 0;       //!< the stored record's, where it is ok and timed
  std::int64_t executions = 0;
};

//! The first cell of each group, by the keys of its cells. O(cells log cells)
std::map<std::string, std::string> GroupsOf(const std::vector<Plan>& plans);

//! Decides anew for groups that were not, or would not be, measured in one stretch: their cells of
//! other stretches than this are measured. O(cells log cells)
//! @param folder the stored cells' @param here environment of this run
void KeepGroupsTogether(const std::vector<Plan>& plans, const std::string& folder,
                        const nlohmann::json& here, std::vector<Decision>& decisions);

}  // namespace retable::harness
