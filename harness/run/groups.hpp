#pragma once
//! @file
//! Cells that a table compares are measured in one stretch: by one commit, on one machine since it
//! was started, GPU rows on one card (StretchOf). Such cells are a group: the timed cells of an
//! experiment on one device, divided by what its TOML calls `group`. Experiments that share a cell
//! share its group.

#include <map>
#include <string>
#include <vector>

#include "harness/run/runner.hpp"

namespace retable::harness {

//! The first cell of each group, by the keys of its cells. O(cells log cells)
std::map<std::string, std::string> GroupsOf(const std::vector<Plan>& plans);

//! Decides anew for groups that were not, or would not be, measured in one stretch: all their cells
//! are measured. O(cells log cells)
void KeepGroupsTogether(const std::vector<Plan>& plans, const RunOptions& options,
                        std::vector<Decision>& decisions);

}  // namespace retable::harness
