#pragma once
//! @file
//! For the families' tests of their experiments: the TOMLs of one family, a machine without a GPU,
//! and a table before anything was measured. Needs RETABLE_SOURCE_DIR, which test programs have.

#include <string>
#include <vector>

#include "harness/experiment.hpp"
#include "harness/plan.hpp"
#include "harness/table.hpp"

namespace retable::experiments {

inline std::vector<harness::Experiment> LoadFamily(const std::string& family,
                                                   const std::string& profile) {
  harness::Overrides overrides;
  overrides.profile = profile;
  auto all = harness::LoadExperiments(RETABLE_SOURCE_DIR, overrides);
  std::erase_if(all, [&](const harness::Experiment& e) { return e.family != family; });
  return all;
}

inline harness::Devices NoGpu() {
  harness::Devices devices;
  devices.cuda_reason = "no CUDA device";
  return devices;
}

//! The rows and columns of a plan.
inline harness::Table EmptyTable(const harness::Plan& plan) {
  harness::Artifact artifact;
  artifact.id = plan.experiment.id;
  artifact.table = plan.experiment.table;
  for (const harness::PlannedCell& cell : plan.cells) {
    artifact.cells.push_back({cell.config, cell.key, cell.not_run.value_or(""), {}});
  }
  return harness::BuildTable(artifact);
}

}  // namespace retable::experiments
