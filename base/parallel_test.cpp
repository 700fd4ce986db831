#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace retable {
namespace {

TEST(Parallel, EveryIndexOnceOnAnyNumberOfThreads) {
  for (const int threads : {0, 1, 2, 1000}) {
    for (const std::size_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      ParallelFor(n, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Parallel, ExceptionsPassOn) {
  for (const int threads : {0, 1, 2}) {
    EXPECT_THROW(ParallelFor(100, threads,
                             [](std::size_t i) {
                               if (i == 50) throw std::runtime_error("the body failed");
                             }),
                 std::runtime_error);
  }
}

// What a body reads behind a loop of its own is whole, whatever another body does.
TEST(Parallel, ALoopWithinABodyRunsToItsEndWhenAnotherBodyFails) {
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> within = false;
    std::atomic<int> bodies = 0, at_the_end = -1;
    const auto fail_or_work = [&](std::size_t i) {
      if (i == 0) {
        for (int wait = 0; wait < 1000 && !within; ++wait) std::this_thread::yield();
        throw std::runtime_error("the body failed");
      }
      ParallelFor(1000, [&](std::size_t) {
        within = true;
        ++bodies;
        std::this_thread::sleep_for(std::chrono::microseconds(1));
      });
      at_the_end = bodies.load();
    };
    EXPECT_THROW(ParallelFor(2, fail_or_work), std::runtime_error);
    if (within) {
      EXPECT_EQ(at_the_end, 1000);
    }
  }
}

TEST(Parallel, ThreadsAreLimitedWithin) {
  WithThreads(1, [] {
    EXPECT_EQ(AvailableThreads(), 1);
    WithThreads(2, [] { EXPECT_EQ(AvailableThreads(), 1); });
  });
  const int all = AvailableThreads();
  WithThreads(0, [&] { EXPECT_EQ(AvailableThreads(), all); });
}

// The check is called on the thread that asked for it, and its exception ends the loop.
TEST(Parallel, ChecksBetweenBodiesEndALoop) {
  const auto caller = std::this_thread::get_id();
  for (const int threads : {0, 1, 2}) {
    int checks = 0;
    std::atomic<int> bodies = 0;
    const auto check = [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      if (++checks == 5) throw std::runtime_error("stop");
    };
    const auto work = [&] { ParallelFor(100000, threads, [&](std::size_t) { ++bodies; }); };
    EXPECT_THROW(WithChecks(check, work), std::runtime_error);
    EXPECT_EQ(checks, 5);
    EXPECT_LT(bodies, 100000);
    WithChecks([&] { ++checks; }, [] { Check(); });
    EXPECT_EQ(checks, 6);
    checks = 5;
    bodies = 0;
    work();  // no check any more
    Check();
    EXPECT_EQ(checks, 5);
    EXPECT_EQ(bodies, 100000);
  }
}

#if defined(RETABLE_TSAN)
// Shows that ThreadSanitizer looks into loops: tools/tsan.sh wants it to be found.
TEST(Parallel, DISABLED_PlantedRace) {
  int sum = 0;
  ParallelFor(1000, [&](std::size_t i) { sum += static_cast<int>(i); });
  EXPECT_GT(sum, 0);
}
#endif

// Loops within loops, as recursive methods have them, and errors of inner ones.
TEST(Parallel, LoopsNest) {
  std::vector<std::atomic<int>> calls(4 * 4 * 4 * 4);
  const std::function<void(std::size_t, std::size_t)> nest = [&](std::size_t base, std::size_t at) {
    if (at == 0) {
      ++calls[base];
      return;
    }
    ParallelFor(4, [&](std::size_t i) { nest(4 * base + i, at - 1); });
  };
  nest(0, 4);
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_THROW(ParallelFor(8,
                           [](std::size_t) {
                             ParallelFor(8, [](std::size_t i) {
                               if (i == 3) throw std::runtime_error("an inner body failed");
                             });
                           }),
               std::runtime_error);
}

// Scratch memory of a thread stays its own while the thread waits for an inner loop.
TEST(Parallel, AWaitingThreadTakesNoOtherWork) {
  static thread_local int busy = 0;
  std::atomic<int> intruders = 0;
  ParallelFor(64, [&](std::size_t) {
    intruders += busy++ > 0;
    ParallelFor(64, [](std::size_t) {
      volatile int x = 0;
      for (int i = 0; i < 1000; ++i) x = x + i;
    });
    --busy;
  });
  EXPECT_EQ(intruders, 0);
}

}  // namespace
}  // namespace retable
