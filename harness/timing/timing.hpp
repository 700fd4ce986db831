#pragma once
//! @file
//! Wall-clock times of code on the CPU, with what a reader needs to trust them.
//!
//! Two engines. Short bodies (micro-seconds, throughput) go through Google Benchmark's library,
//! which chooses the iterations a repetition needs; its raw JSON is kept beside our figures. Long
//! bodies (milliseconds to minutes) go through a loop of our own over the steady clock, one
//! iteration a sample, with two things Google Benchmark does not do: it warms up until runs agree,
//! and it stops when the interval of the median is narrow enough or a budget is spent.
//!
//! Everything the body does is timed, nothing else: no input is made, nothing is allocated or
//! checked by the engine inside. `cores_used` is processor time over wall time of the process, so a
//! body that was meant to be serial and is not, or the reverse, shows. Pinning binds the calling
//! thread to the processor it runs on; threads started later inherit that, so pin only serial
//! bodies. Not to be used by two threads at a time (Google Benchmark's registry is global).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/timing/pinning.hpp"

namespace retable::harness {

class GpuClock;

//! Makes the compiler believe that what `p` points to is read and changed here.
inline void KeepAlive(const void* p) {
  asm volatile("" : : "g"(p) : "memory");
}

struct TimingResult {
  std::vector<double> seconds;  //!< per iteration, one entry per sample, in the order taken
  std::int64_t iterations = 1;  //!< runs of the body within a sample
  std::int64_t warmup_runs = 0;
  double cores_used = 0;       //!< processor time / wall time while sampling
  int pinned_to = -1;          //!< logical processor, or -1
  bool steady = true;          //!< last third within 5 % of the first third
  std::string stop_reason;     //!< "interval", "samples", "budget"; Google Benchmark: "repetitions"
  std::vector<double> sm_mhz;  //!< GPU: effective clock of each sample, else empty
  double peak_mhz = 0;         //!< GPU: what the clock may reach
  std::int64_t throttled = 0;  //!< GPU: samples below 75 % of it; counted, kept
  std::string included;        //!< GPU: what was timed besides kernels
  std::string raw_json;        //!< Google Benchmark's own report less the host's name, else empty
};

struct BenchmarkOptions {
  double min_time = 0.1;  //!< seconds a repetition lasts at least
  int repetitions = 10;
  double warmup = 0.05;                                     //!< seconds
  double items_per_iteration = 0, bytes_per_iteration = 0;  //!< the raw JSON has their rates
  bool pin = false;
};

//! Times a short body with Google Benchmark. What the body throws is thrown on.
//! @param name as it shall stand in the raw JSON
TimingResult TimeWithGoogleBenchmark(const std::string& name, const std::function<void()>& body,
                                     const BenchmarkOptions& options = {});

struct RepeatOptions {
  int min_samples = 10, max_samples = 200;
  double budget = 10;    //!< seconds for warm-up and samples together; at least one sample
  double target = 0.01;  //!< stop when the 95 % interval's half width is this share of the median
  double min_sample = 1e-3;  //!< seconds; shorter bodies are iterated within a sample
  int max_warmup_runs = 20;
  bool pin = false;
  //! The body works on the current GPU: record its effective clock with each sample (two stamp
  //! kernels around it, outside of the time).
  bool gpu_clock = false;
  std::function<double()> clock;  //!< seconds; for tests. Default: the steady clock
};

//! Times a long body, one sample after another, until the interval is narrow or the budget spent.
TimingResult TimeRepeated(const std::function<void()>& body, const RepeatOptions& options = {});

//! One run, not warmed up: for bodies that take minutes. Seconds.
double TimeOnce(const std::function<void()>& body);

//! Times a body whose first call took `first_seconds` already, within options.budget. Where the
//! budget does not hold three times options.min_samples of them, that call was the warm-up; then
//! come as many samples as it holds, at least three, or two of calls of ten seconds and more, and
//! at most min_samples: a sample alone would have no interval.
TimingResult TimeAfterFirstCall(const std::function<void()>& body, double first_seconds,
                                const RepeatOptions& options);

struct RunTimerOptions {
  bool gpu_clock = false;  //!< as in RepeatOptions
  bool pin = false;        //!< pin while the timer lives
};

//! Times runs one by one, where the caller owns the loop (every run has a seed of its own, or is
//! checked before the next): a run is a sample.
class RunTimer {
 public:
  //! @throws std::runtime_error where the GPU's clock is wanted and there is no GPU
  explicit RunTimer(const RunTimerOptions& options = {});
  ~RunTimer();
  RunTimer(const RunTimer&) = delete;
  RunTimer& operator=(const RunTimer&) = delete;

  //! Runs the body once. @return its seconds; result() keeps them
  double Time(const std::function<void()>& body);
  //! All runs since the last Forget(), in their order: seconds, clocks, cores used.
  const TimingResult& result() const { return result_; }
  //! Drops what was timed so far: warm-up.
  void Forget();

 private:
  Pinned pinned_;
  std::unique_ptr<GpuClock> gpu_clock_;
  TimingResult result_;
  double busy_ = 0, all_ = 0;  // seconds: of all processors together, and on the wall
};

}  // namespace retable::harness
