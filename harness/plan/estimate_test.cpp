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

// One experiment of so many cells of 1..n, timed or not, that takes a minute.
Plan PlanOf(int cells, bool exclusive = true) {
  Plan plan;
  plan.experiment.id = "family/table";
  plan.experiment.expected["quick"] = 60;
  plan.experiment.exclusive = exclusive;
  for (int i = 1; i <= cells; ++i) plan.cells.emplace_back().config = Cell("a", i);
  return plan;
}

double Sum(const DurationEstimator& estimate, int first, int last) {
  double sum = 0;
  for (int i = first; i <= last; ++i) sum += estimate.Seconds(Cell("a", i));
  return sum;
}

TEST(Estimate, WithoutAnExpectationTheNearestKnownWins) {
  DurationEstimator estimate;
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 1);  // never nothing
  CellConfig other = Cell("c", 1);
  other.experiment = "family/figure";
  estimate.Learn(other, 20);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 20);  // all
  estimate.Learn(Cell("b", 1), 8);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 8);  // its experiment
  estimate.Learn(Cell("a", 2), 2);
  estimate.Learn(Cell("a", 3), 4);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 3);  // its row
  estimate.Learn(Cell("a", 1), 1);
  EXPECT_EQ(estimate.Seconds(Cell("a", 1)), 1);  // itself
}

TEST(Estimate, AnExperimentTakesWhatItsFileExpects) {
  Plan plan = PlanOf(4);
  plan.cells[3].not_run = "no device";
  DurationEstimator estimate;
  estimate.Expect({plan}, "quick");
  EXPECT_NEAR(Sum(estimate, 1, 3), 60, 1e-9);
  EXPECT_EQ(estimate.Seconds(Cell("a", 4)), 1);  // it will not run
  // Two at a time: each worker takes twice its share.
  DurationEstimator shared;
  shared.Expect({PlanOf(4, false)}, "quick");
  EXPECT_NEAR(Sum(shared, 1, 4), 120, 1e-9);
}

TEST(Estimate, CellsOnAGpuTakeWhatTheirRowTakes) {
  Plan plan = PlanOf(4);
  plan.cells[2].config.device = plan.cells[3].config.device = "cuda";
  DurationEstimator estimate;
  estimate.Expect({plan}, "quick");
  EXPECT_NEAR(Sum(estimate, 1, 2), 60, 1e-9);
  EXPECT_EQ(estimate.Seconds(plan.cells[3].config), 2);
  estimate.Learn(plan.cells[2].config, 5);
  EXPECT_EQ(estimate.Seconds(plan.cells[3].config), 5);
}

// What the first cells save is left for the others; the whole stays what was forecast.
TEST(Estimate, CheapCellsFirstDoNotShortenTheForecast) {
  DurationEstimator estimate;
  estimate.Expect({PlanOf(10)}, "quick");
  double spent = 0;
  for (int i = 1; i <= 3; ++i) {
    estimate.Learn(Cell("a", i), 0.5);
    spent += 0.5;
    EXPECT_NEAR(spent + Sum(estimate, i + 1, 10), 60, 15) << i;
  }
  // In the end the cells themselves count: some methods are not at hand here.
  for (int i = 4; i <= 9; ++i) estimate.Learn(Cell("a", i), 0.5);
  EXPECT_LT(Sum(estimate, 10, 10), 12);
}

TEST(Estimate, DearCellsLengthenIt) {
  DurationEstimator estimate;
  estimate.Expect({PlanOf(10)}, "quick");
  double before = 60;
  for (int i = 1; i <= 6; ++i) {
    estimate.Learn(Cell("a", i), 18);  // three times what was expected
    const double left = Sum(estimate, i + 1, 10);
    EXPECT_GT(left, before - 18) << i;
    before = left;
  }
  EXPECT_GT(before, 4 * 10);  // 72 seconds are left indeed
}

TEST(Estimate, ASlowMachineStretchesWhatIsLeft) {
  Plan first = PlanOf(10), second = PlanOf(10);
  second.experiment.id = "family/second";
  for (PlannedCell& cell : second.cells) cell.config.label = cell.config.algorithm = "b";
  DurationEstimator estimate;
  estimate.Expect({first, second}, "quick");
  for (int i = 1; i <= 10; ++i) estimate.Learn(Cell("a", i), 18);  // three times as long
  EXPECT_NEAR(estimate.Seconds(Cell("b", 1)), 12, 0.1);            // half way from 6 to 18
  DurationEstimator busy;
  busy.Expect({second}, "quick");
  busy.ExpectPace(2);
  EXPECT_NEAR(busy.Seconds(Cell("b", 1)), 12, 1e-9);
}

TEST(Estimate, WritingTakesTimeWithEveryArtifact) {
  EXPECT_GT(WritingSeconds(80, true), WritingSeconds(80, false));
  EXPECT_GT(WritingSeconds(80, false), WritingSeconds(8, false));
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
