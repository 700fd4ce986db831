#include "harness/machine/activity.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace retable::harness {
namespace {

TEST(Activity, CountsTheProcessorsThatThisProcessMayUse) {
  constexpr const char* kStat =
      "cpu  1000 0 0 0 0 0 0 0 0 0\n"
      "cpu0 10 1 5 500 70 2 3 4 9 9\n"
      "cpu1 20 0 5 500 0 0 0 0 0 0\n"
      "cpu10 40 0 0 500 0 0 0 0 0 0\n"
      "intr 12345\n";
  EXPECT_EQ(BusyTicks(kStat, "1"), 25);  // idle and waiting for disks are no work, stolen time is
  EXPECT_EQ(BusyTicks(kStat, "11"), 50);
  EXPECT_EQ(BusyTicks(kStat, "01000000001"), 65);
  EXPECT_EQ(BusyTicks("", "11"), 0);
}

// One busy processor of sixteen is less than a tenth, but fifteen threads wait for the one there.
TEST(Activity, IsBusyFromHalfOfAProcessorOnBesideThreads) {
  Activity activity;
  activity.seconds = 1;
  activity.processors = 16;
  for (const double others : {0.4, 0.6, 1.5, 1.7}) {
    activity.others = others;
    EXPECT_EQ(activity.Busy(), others > 0.5) << others;
    EXPECT_EQ(activity.Busy(false), others > 1.6) << others;
  }
}

TEST(Activity, IsBusyFromATenthOfTheProcessorsOn) {
  const ActivityReading begin{10, 100, 50, 7, 2};
  const auto others = [&](double seconds) {
    return ActivityBetween(begin, {20, 100 + 8 + seconds, 58, 7, 2});  // 8 s are its own
  };
  EXPECT_FALSE(others(1.9).Busy());
  EXPECT_TRUE(others(2.1).Busy());
  EXPECT_DOUBLE_EQ(others(16).others, 1.6);
  EXPECT_EQ(others(16).Text(), "other processes took 1.6 of 2 processors");
  EXPECT_EQ(others(-1).others, 0);  // counters that disagree
  const Activity hot = ActivityBetween(begin, {20, 108, 58, 9, 2});
  EXPECT_TRUE(hot.Busy());
  EXPECT_EQ(hot.Text(),
            "other processes took 0.0 of 2 processors, processors were slowed for heat 2 times");
}

TEST(Activity, TooShortALookTellsNothing) {
  EXPECT_FALSE(ActivityBetween({10, 100, 50, 0, 2}, {10.2, 100.4, 50, 0, 2}).Busy());
}

// Its own work is not that of others: two looks of one length, one with a thread that works.
TEST(Activity, OwnWorkIsNotOthers) {
  std::atomic<bool> stop{false};
  const ActivityReading begin = ReadActivity();
  std::thread worker([&] {
    while (!stop) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  stop = true;
  worker.join();
  const ActivityReading end = ReadActivity();
  EXPECT_GT(end.own - begin.own, 0.02);
  EXPECT_GE(end.busy - begin.busy, end.own - begin.own - 0.1);
  EXPECT_GT(end.processors, 0);
}

}  // namespace
}  // namespace retable::harness
