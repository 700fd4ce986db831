// Every shuffle experiment loads and plans, and its names agree with its published cells.

#include "experiments/common/plan_testing.hpp"
#include "harness/experiment.hpp"

#include <gtest/gtest.h>

#include <set>

#include "harness/paper_cells.hpp"
#include "harness/plan.hpp"
#include "harness/table.hpp"

namespace retable::harness {
namespace {

using experiments::EmptyTable;
using experiments::NoGpu;

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("shuffle", profile);
}

TEST(ShuffleExperiments, EveryArtifactIsThere) {
  std::set<std::string> ids;
  for (const auto& e : Load("quick")) ids.insert(e.artifact);
  for (const char* artifact :
       {"fig6", "fig7", "fig8", "fig9", "fig10", "table1", "table2", "table3", "beyond-gpu",
        "beyond-items", "beyond-cpu", "beyond-power"}) {
    EXPECT_EQ(ids.count(artifact), 1u) << artifact;
  }
}

TEST(ShuffleExperiments, EveryProfilePlans) {
  for (const char* profile : {"smoke", "quick", "paper"}) {
    for (const auto& e : Load(profile)) {
      EXPECT_FALSE(MakePlan(e, NoGpu()).cells.empty()) << e.id;
      EXPECT_EQ(e.expected.count(profile), 1u) << e.id;
    }
  }
}

TEST(ShuffleExperiments, RowsAndColumnsAreThePapers) {
  int files = 0;
  for (const auto& e : Load("paper")) {
    if (e.paper_file.empty()) continue;
    ++files;
    const Table table = EmptyTable(MakePlan(e, NoGpu()));
    for (const PublishedCell& cell : ReadPaperCells(e.paper_file)) {
      EXPECT_NE(table.Find(cell.row, cell.column), nullptr)
          << e.id << " has no [" << cell.row << ", " << cell.column << "]";
    }
  }
  EXPECT_EQ(files, 3);
}

}  // namespace
}  // namespace retable::harness
