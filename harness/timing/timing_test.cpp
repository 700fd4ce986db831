#include "harness/timing/timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "harness/stats/statistics.hpp"
#include "harness/timing/pinning.hpp"

namespace retable::harness {
namespace {

void Spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// A clock that only the bodies move: what the engines do with times, without waiting for them.
struct FakeTime {
  double now = 0;
  int runs = 0;
  RepeatOptions Options() {
    RepeatOptions options;
    options.clock = [this] { return now; };
    return options;
  }
  std::function<void()> Body(std::function<double(int)> length) {
    return [this, length] { now += length(runs++); };
  }
};

TEST(TimeAfterFirstCall, OverTheBudgetTheFirstCallWarmsUpForAFewSamples) {
  int calls = 0;
  const auto body = [&] { ++calls; };
  RepeatOptions options;
  options.min_samples = 5;
  options.budget = 0.01;
  EXPECT_EQ(TimeAfterFirstCall(body, 0.06, options).seconds.size(), 3u);
  EXPECT_EQ(TimeAfterFirstCall(body, 20, options).seconds.size(), 2u);
  EXPECT_EQ(TimeAfterFirstCall(body, 0.0024, options).seconds.size(), 4u);
  EXPECT_EQ(calls, 9);
  EXPECT_EQ(TimeAfterFirstCall(body, 0.002, options).stop_reason, "samples");
  EXPECT_GE(TimeAfterFirstCall(body, 1e-6, options).seconds.size(), 5u);
  EXPECT_GT(calls, 15);
}

TEST(RunTimer, KeepsEveryRunSinceTheLastForget) {
  RunTimer timer({.pin = true});
  timer.Time([] { Spin(0.001); });
  timer.Forget();
  EXPECT_TRUE(timer.result().seconds.empty());
  const double first = timer.Time([] { Spin(0.03); });
  EXPECT_GE(first, 0.03);
  EXPECT_THROW(timer.Time([] { throw std::runtime_error("no"); }), std::runtime_error);
  timer.Time([] { Spin(0.01); });
  const TimingResult& result = timer.result();
  ASSERT_EQ(result.seconds.size(), 2u);
  EXPECT_EQ(result.seconds[0], first);
  EXPECT_GT(result.cores_used, 0.1);
  EXPECT_LT(result.cores_used, 1.2);  // this thread alone
  EXPECT_GE(result.pinned_to, 0);
  EXPECT_TRUE(result.sm_mhz.empty());
#if !defined(RETABLE_HAS_CUDA)
  EXPECT_THROW(RunTimer({.gpu_clock = true}), std::runtime_error);
#endif
}

TEST(TimeRepeated, StopsWhenTheIntervalIsNarrow) {
  FakeTime time;
  const auto result = TimeRepeated(time.Body([](int) { return 0.01; }), time.Options());
  EXPECT_EQ(result.stop_reason, "interval");
  EXPECT_EQ(result.seconds.size(), 10u);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_EQ(result.warmup_runs, 3);
  EXPECT_TRUE(result.steady);
  for (const double s : result.seconds) EXPECT_NEAR(s, 0.01, 1e-12);
}

TEST(TimeRepeated, WarmsUpUntilRunsAgree) {
  FakeTime time;  // the first runs are slow: 0.10, 0.09, 0.08, ... 0.02, then 0.01 for good
  const auto result = TimeRepeated(
      time.Body([](int run) { return std::max(0.01, 0.10 - 0.01 * run); }), time.Options());
  EXPECT_EQ(result.warmup_runs, 12);
  EXPECT_NEAR(result.seconds.front(), 0.01, 1e-12);
}

TEST(TimeRepeated, WarmUpEndsThoughRunsNeverAgree) {
  FakeTime time;
  auto options = time.Options();
  options.max_warmup_runs = 7;
  const auto result =
      TimeRepeated(time.Body([](int run) { return run % 2 == 0 ? 0.01 : 0.02; }), options);
  EXPECT_EQ(result.warmup_runs, 7);
  EXPECT_EQ(result.stop_reason, "samples");
}

TEST(TimeRepeated, StopsAtTheBudgetOrTheSamples) {
  FakeTime time;
  auto options = time.Options();
  options.budget = 1;
  const auto noisy = [](int run) { return run % 2 == 0 ? 0.01 : 0.02; };
  const auto budget = TimeRepeated(time.Body(noisy), options);
  EXPECT_EQ(budget.stop_reason, "budget");
  EXPECT_LE(time.now, 1.03);
  options.budget = 1000;
  options.max_samples = 31;
  const auto samples = TimeRepeated(time.Body(noisy), options);
  EXPECT_EQ(samples.stop_reason, "samples");
  EXPECT_EQ(samples.seconds.size(), 31u);
}

TEST(TimeRepeated, OneSampleAtLeastThoughTheBudgetIsSpent) {
  FakeTime time;
  auto options = time.Options();
  options.budget = 0.001;
  const auto result = TimeRepeated(time.Body([](int) { return 5.0; }), options);
  EXPECT_EQ(result.warmup_runs, 1);
  EXPECT_EQ(result.seconds.size(), 1u);
  EXPECT_EQ(result.stop_reason, "budget");
}

TEST(TimeRepeated, ShortBodiesAreIterated) {
  FakeTime time;
  const auto result = TimeRepeated(time.Body([](int) { return 1e-5; }), time.Options());
  EXPECT_NEAR(static_cast<double>(result.iterations), 100, 1);
  EXPECT_NEAR(result.seconds.front(), 1e-5, 1e-10);
}

TEST(TimeRepeated, DriftIsFlagged) {
  FakeTime time;
  auto options = time.Options();
  options.min_samples = options.max_samples = 30;
  const auto result =
      TimeRepeated(time.Body([](int run) { return 0.01 * (1 + 0.01 * run); }), options);
  EXPECT_FALSE(result.steady);
}

TEST(TimeRepeated, BadOptionsAndThrowingBodies) {
  RepeatOptions options;
  options.min_samples = 0;
  EXPECT_THROW(TimeRepeated([] {}, options), std::invalid_argument);
  options = {};
  options.max_samples = 5;
  EXPECT_THROW(TimeRepeated([] {}, options), std::invalid_argument);
  EXPECT_THROW(TimeRepeated([] { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST(TimeRepeated, RealClock) {
  RepeatOptions options;
  options.budget = 0.5;
  options.pin = true;
  const auto result = TimeRepeated([] { Spin(0.002); }, options);
  EXPECT_GE(Quantile(result.seconds, 0), 0.002);
  EXPECT_LT(Quantile(result.seconds, 0), 0.02);
  EXPECT_GE(result.pinned_to, 0);
  EXPECT_LE(result.cores_used, 1.3);
}

TEST(TimeOnce, MeasuresOneRun) {
  int runs = 0;
  const double seconds = TimeOnce([&] {
    ++runs;
    Spin(0.005);
  });
  EXPECT_EQ(runs, 1);
  EXPECT_GE(seconds, 0.005);
}

TEST(GoogleBenchmark, GivesRepetitionsAndItsRawReport) {
  BenchmarkOptions options;
  options.min_time = 0.01;
  options.repetitions = 4;
  options.warmup = 0.001;
  options.items_per_iteration = 10;
  options.pin = true;
  const auto result = TimeWithGoogleBenchmark(
      "spin/100us", [] { Spin(1e-4); }, options);
  ASSERT_EQ(result.seconds.size(), 4u);
  for (const double s : result.seconds) {  // on a busy machine a run may take much longer
    EXPECT_GE(s, 1e-4);
    EXPECT_LT(s, 1e-2);
  }
  EXPECT_GT(result.iterations, 10);
  EXPECT_GE(result.pinned_to, 0);
  const auto json = nlohmann::json::parse(result.raw_json);
  EXPECT_TRUE(json["context"].contains("num_cpus"));
  EXPECT_FALSE(json["context"].contains("host_name"));  // results are published
  int repetitions = 0;
  for (const auto& run : json["benchmarks"]) repetitions += run["run_type"] == "iteration";
  EXPECT_EQ(repetitions, 4);
  EXPECT_GT(json["benchmarks"][0]["items_per_second"].get<double>(), 0);
  EXPECT_NE(json["benchmarks"][0]["name"].get<std::string>().find("spin/100us"), std::string::npos);
}

TEST(GoogleBenchmark, RunsAreIndependentAndThrowOn) {
  BenchmarkOptions options;
  options.min_time = 0.001;
  options.repetitions = 2;
  options.warmup = 0;
  EXPECT_THROW(TimeWithGoogleBenchmark(
                   "bad", [] { throw std::runtime_error("x"); }, options),
               std::runtime_error);
  const auto result = TimeWithGoogleBenchmark(
      "good", [] { Spin(1e-5); }, options);
  EXPECT_EQ(result.seconds.size(), 2u);
  EXPECT_EQ(result.raw_json.find("bad"), std::string::npos);
  options.repetitions = 0;
  EXPECT_THROW(TimeWithGoogleBenchmark(
                   "none", [] {}, options),
               std::invalid_argument);
  options.repetitions = 2;
  options.min_time = 0;  // the library would end the process
  EXPECT_THROW(TimeWithGoogleBenchmark(
                   "no time", [] {}, options),
               std::invalid_argument);
}

TEST(Pinned, BindsAndSetsFreeAgain) {
  cpu_set_t before, within, after;
  sched_getaffinity(0, sizeof(before), &before);
  {
    const Pinned pinned(true);
    if (pinned.processor() < 0) GTEST_SKIP() << "the system does not allow binding";
    sched_getaffinity(0, sizeof(within), &within);
    EXPECT_EQ(CPU_COUNT(&within), 1);
    EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(pinned.processor()), &within));
  }
  sched_getaffinity(0, sizeof(after), &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_EQ(Pinned(false).processor(), -1);
}

TEST(CoresUsed, SleepingUsesNone) {
  const CoresUsed cores;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(cores.SoFar(), 0.5);
}

}  // namespace
}  // namespace retable::harness
