#include "experiments/common/adapters.hpp"

#include <gtest/gtest.h>

namespace retable::experiments {
namespace {

TEST(RepeatsOfCalls, ShortCallsAreSampledForHalfASecond) {
  harness::CellConfig cell;
  cell.settings["budget"] = 15.0;
  cell.repeats = 5;
  struct Row {
    double first_seconds;
    int samples, warmup_runs;
  };
  for (const Row& row : {Row{1e-6, 200, 20}, {0.005, 100, 10}, {0.02, 25, 2}, {1, 20, 2}}) {
    const harness::RepeatOptions options = RepeatsOfCalls(cell, row.first_seconds);
    EXPECT_EQ(options.max_samples, row.samples) << row.first_seconds;
    EXPECT_EQ(options.max_warmup_runs, row.warmup_runs) << row.first_seconds;
    EXPECT_EQ(options.min_samples, 5);
    EXPECT_EQ(options.budget, 15);
  }
}

}  // namespace
}  // namespace retable::experiments
