#include "harness/plan/estimate.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

CellConfig Cell(const std::string& label, std::int64_t size) {
  CellConfig cell;
  cell.experiment = "family/table";
  cell.label = label;
  cell.algorithm = label;
  cell.axes["size"] = size;
  return cell;
}

TEST(Estimate, TheNearestKnownWins) {
  DurationEstimator estimate;
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 0);
  Plan plan;
  plan.experiment.id = "family/table";
  plan.experiment.expected["quick"] = 60;
  plan.cells.resize(3);
  plan.cells[2].not_run = "no device";
  estimate.Expect({plan}, "quick");
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 30);  // of two cells that run
  estimate.Learn(Cell("b", 1), 8);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 8);  // its experiment
  estimate.Learn(Cell("a", 2), 2);
  estimate.Learn(Cell("a", 3), 4);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 3);  // its row
  estimate.Learn(Cell("a", 1), 1);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 1);  // itself
}

TEST(Estimate, ACellIsItselfUnderAnotherName) {
  CellConfig renamed = Cell("a", 1);
  renamed.label = "A (size 1)";
  renamed.experiment = "family/figure";
  EXPECT_EQ(CellIdentity(renamed), CellIdentity(Cell("a", 1)));
  renamed.seed = 2;
  EXPECT_NE(CellIdentity(renamed), CellIdentity(Cell("a", 1)));
}

}  // namespace
}  // namespace retable::harness
