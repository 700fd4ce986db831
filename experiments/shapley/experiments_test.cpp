// The family's protocols on small input, and its TOML files against the published cells.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "experiments/common/plan_testing.hpp"
#include "harness/experiment.hpp"
#include "harness/paper_cells.hpp"
#include "harness/plan.hpp"
#include "harness/table.hpp"

namespace retable::harness {
namespace {

using experiments::EmptyTable;
using experiments::NoGpu;

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("shapley", profile);
}

TEST(ShapleyExperiments, EveryProfilePlans) {
  for (const char* profile : {"smoke", "quick", "paper"}) {
    const auto all = Load(profile);
    EXPECT_FALSE(all.empty());
    for (const auto& e : all) {
      EXPECT_FALSE(MakePlan(e, NoGpu()).cells.empty()) << e.id << " " << profile;
      EXPECT_EQ(e.expected.count(profile), 1u) << e.id << " " << profile;
    }
  }
}

TEST(ShapleyExperiments, RowsAndColumnsAreThePapers) {
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
  EXPECT_EQ(files, 1);
}

TEST(ShapleyExperiments, TableFourIsAsPrinted) {
  const auto cells =
      ReadPaperCells(std::string(RETABLE_SOURCE_DIR) + "/experiments/shapley/table4.paper.csv");
  ASSERT_EQ(cells.size(), 126u);  // 5 methods at 9 places, without SBQ at n = 1000
  const auto value = [&](const std::string& row, const std::string& column) {
    for (const auto& cell : cells) {
      if (cell.row == row && cell.column == column) return cell.value.value();
    }
    return std::nan("");
  };
  EXPECT_EQ(value("d=10 n=100 SBQ", "Discrepancy"), 0.055803);
  EXPECT_EQ(value("d=200 n=1000 Herding", "Time (s)"), 242.515501);
  EXPECT_EQ(value("d=200 n=1000 Sobol", "Discrepancy"), 0.023411);
}

CellConfig Cell(const std::string& protocol, const std::string& algorithm,
                const std::string& data) {
  CellConfig cell;
  cell.experiment = "shapley/test";
  cell.family = "shapley";
  cell.protocol = protocol;
  cell.algorithm = algorithm;
  cell.label = algorithm;
  cell.device = "cpu";
  cell.dataset = data;
  cell.seed = 1;
  for (const auto& spec : FindProtocol(protocol).settings()) {
    cell.settings[spec.name] = spec.fallback;
  }
  return cell;
}

TEST(DiscrepancyProtocol, MeasuresEveryRepeat) {
  CellConfig cell = Cell("shapley/discrepancy", "Orthogonal", "permutations");
  cell.axes["dimension"] = std::int64_t{10};
  cell.axes["samples"] = std::int64_t{100};
  cell.repeats = 3;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  ASSERT_EQ(outcome.metrics.front().samples.size(), 3u);
  // Table 4: 0.070014, standard deviation 0.0017.
  for (double x : outcome.metrics.front().samples) EXPECT_NEAR(x, 0.070, 0.008);
  EXPECT_THROW(FindProtocol(cell.protocol).resolve("iris"), UnknownName);
}

}  // namespace
}  // namespace retable::harness
