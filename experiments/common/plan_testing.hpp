#pragma once
//! @file
//! For the families' tests of their experiments: the TOMLs of one family, a machine without a GPU,
//! a table before anything was measured, a cell to measure. Needs RETABLE_SOURCE_DIR, which test
//! programs have.

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/experiment.hpp"
#include "harness/plan/plan.hpp"
#include "harness/protocol.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"

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

//! Expects cells and a time for every experiment of a family in every profile.
inline void ExpectEveryProfilePlans(const std::string& family) {
  for (const char* profile : {"smoke", "quick", "paper"}) {
    const auto all = LoadFamily(family, profile);
    EXPECT_FALSE(all.empty()) << family << " " << profile;
    for (const harness::Experiment& e : all) {
      EXPECT_FALSE(MakePlan(e, NoGpu()).cells.empty()) << e.id << " " << profile;
      EXPECT_EQ(e.expected.count(profile), 1u) << e.id << " " << profile;
    }
  }
}

//! Expects a row and a column for every published cell of a family, each published once and saying
//! where. @return how many files of published cells there are
inline int ExpectPlacesForPublishedCells(const std::string& family, const std::string& profile) {
  int files = 0;
  for (const harness::Experiment& e : LoadFamily(family, profile)) {
    if (e.paper_file.empty()) continue;
    ++files;
    const harness::Table table = EmptyTable(MakePlan(e, NoGpu()));
    std::set<std::pair<std::string, std::string>> seen;
    for (const harness::PublishedCell& cell : harness::ReadPaperCells(e.paper_file)) {
      EXPECT_NE(table.Find(cell.row, cell.column), nullptr)
          << e.id << " has no [" << cell.row << ", " << cell.column << "]";
      EXPECT_TRUE(seen.emplace(cell.row, cell.column).second) << e.id << " twice: " << cell.row;
      EXPECT_FALSE(cell.table.empty()) << e.id << " " << cell.row;
      // The report on extremely randomized trees has no page numbers.
      EXPECT_TRUE(!cell.page.empty() || family == "extratrees") << e.id << " " << cell.row;
    }
  }
  return files;
}

//! A cell on the processor, with the settings that a protocol has where none are given.
inline harness::CellConfig CellOf(const std::string& protocol, const std::string& algorithm,
                                  const std::string& dataset) {
  harness::CellConfig cell;
  cell.family = protocol.substr(0, protocol.find('/'));
  cell.experiment = cell.family + "/test";
  cell.protocol = protocol;
  cell.algorithm = algorithm;
  cell.label = algorithm;
  cell.device = "cpu";
  cell.dataset = dataset;
  cell.seed = 1;
  for (const auto& spec : harness::FindProtocol(protocol).settings()) {
    cell.settings[spec.name] = spec.fallback;
  }
  return cell;
}

//! @throws std::out_of_range where nothing of that name was measured.
inline const harness::Metric& MetricOf(const harness::Outcome& outcome, const std::string& name) {
  for (const harness::Metric& metric : outcome.metrics) {
    if (metric.name == name) return metric;
  }
  throw std::out_of_range(name);
}

}  // namespace retable::experiments
