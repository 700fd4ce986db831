// Every experiment of every family loads, plans, and agrees in its names with its published cells.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "experiments/common/paper_testing.hpp"
#include "experiments/common/plan_testing.hpp"
#include "harness/config/experiment.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {
namespace {

using experiments::EmptyTable;
using experiments::NoGpu;

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("quantiles", profile);
}

TEST(QuantileExperiments, EveryArtifactOfTheChapterIsThere) {
  std::set<std::string> ids;
  for (const auto& e : Load("quick")) ids.insert(e.artifact);
  for (const char* artifact :
       {"fig1", "fig3", "fig4", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "fig12", "table2",
        "table3", "table4", "table5", "table6"}) {
    EXPECT_EQ(ids.count(artifact), 1u) << artifact;
  }
}

// Without a hash of the sources, changed code would show old results.
TEST(SourceHashes, EveryFamilyHasItsOwn) {
  std::set<std::string> hashes;
  std::set<std::string> families;
  for (const auto& protocol : Protocols())
    families.insert(protocol->name().substr(0, protocol->name().find('/')));
  for (const auto& family : families) {
    EXPECT_EQ(FamilySourceHash(family).size(), 64u) << family;
    hashes.insert(FamilySourceHash(family));
  }
  EXPECT_EQ(hashes.size(), families.size());
  EXPECT_NE(FamilySourceHash("quantiles"), FamilySourceHash("shuffle"));
}

TEST(QuantileExperiments, EveryProfilePlans) {
  experiments::ExpectEveryProfilePlans("quantiles");
}

TEST(QuantileExperiments, RowsAndColumnsAreThePapers) {
  EXPECT_EQ(experiments::ExpectPlacesForPublishedCells("quantiles", "quick"), 7);
}

TEST(QuantileExperiments, ClaimsHoldOnTheWorksOwnNumbers) {
  EXPECT_GE(experiments::ExpectClaimsHoldInTheWork(
                "quantiles",
                {{"fig6", "table2"}, {"fig7", "table2"}, {"fig8", "table3"}, {"fig9", "table4"}}),
            20);
}

TEST(QuantileExperiments, TableTwoHasThePapersRowsInItsOrder) {
  for (const auto& e : Load("quick")) {
    if (e.artifact != "table2") continue;
    const Table table = EmptyTable(MakePlan(e, NoGpu()));
    const auto cells = ReadPaperCells(e.paper_file);
    ASSERT_EQ(cells.size(), 27u * 6u);
    auto row = table.rows.begin();  // other methods may stand between the paper's
    for (const auto& cell : cells) {
      row = std::find(row, table.rows.end(), cell.row);
      ASSERT_NE(row, table.rows.end()) << cell.row;
    }
    // Spot checks against the printed page.
    EXPECT_EQ(cells[0].value, 0.107872);
    EXPECT_EQ(cells.back().row, "ME-naive-gpu (l=15)");
    EXPECT_EQ(cells.back().value, 112);
  }
}

}  // namespace
}  // namespace retable::harness
