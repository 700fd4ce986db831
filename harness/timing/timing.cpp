#include "harness/timing/timing.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "harness/stats/statistics.hpp"
#include "harness/timing/gpu_clock.hpp"
#include "harness/timing/stop_rule.hpp"

namespace retable::harness {
namespace {

constexpr double kWarmUpAgreement = 0.05;  // warm when three runs in a row agree to this share
constexpr double kLongCall = 10;           // seconds
constexpr std::uint64_t kSeed = 1;         // of the resampling that decides when to stop

using Body = std::function<void()>;

// A contender under the stop-watch.
class Watch {
 public:
  Watch(const Body& body, const RepeatOptions& options)
      : body_(body), options_(options), clock_(options.clock ? options.clock : &SteadyNow) {
    if (options.gpu_clock) gpu_clock_.emplace();
  }

  double Now() const { return clock_(); }

  // Seconds per iteration of one sample.
  double Sample() {
    if (gpu_clock_) gpu_clock_->Begin(), gpu_clock_->Wait();
    const double begin = Now();
    for (std::int64_t i = 0; i < iterations; ++i) body_();
    const double seconds = (Now() - begin) / static_cast<double>(iterations);
    if (gpu_clock_) gpu_clock_->End(), last_mhz = gpu_clock_->Mhz();
    return seconds;
  }

  double peak_mhz() const { return gpu_clock_ ? gpu_clock_->peak_mhz() : 0; }

  // Runs until three in a row agree, then settles how many iterations make a sample.
  void WarmUp(double deadline) {
    const std::vector<double> last = harness::WarmUp(
        kWarmUpAgreement, options_.max_warmup_runs, runs, [&] { return Now() < deadline; },
        [&] { return Sample(); });
    const double typical = *std::ranges::min_element(last);
    if (typical < options_.min_sample) {
      const double wanted = typical > 0 ? options_.min_sample / typical : 1e6;
      iterations = static_cast<std::int64_t>(std::ceil(std::min(wanted, 1e9)));
    }
  }

  std::int64_t iterations = 1;
  std::int64_t runs = 0;
  double last_mhz = 0;  // GPU's clock at the last sample

 private:
  const Body& body_;
  const RepeatOptions& options_;
  std::function<double()> clock_;
  std::optional<GpuClock> gpu_clock_;
};

TimingResult Describe(const Watch& watch) {
  TimingResult result;
  result.iterations = watch.iterations;
  result.warmup_runs = watch.runs;
  result.peak_mhz = watch.peak_mhz();
  return result;
}

// The clock of the sample just taken.
void KeepClock(double mhz, TimingResult& result) {
  result.sm_mhz.push_back(mhz);
  result.throttled += mhz < kThrottledShare * result.peak_mhz;
}

void CheckOptions(const RepeatOptions& options) {
  if (options.min_samples < 1 || options.max_samples < options.min_samples) {
    throw std::invalid_argument("timing: 1 <= min_samples <= max_samples is needed");
  }
  if (options.max_warmup_runs < 1)
    throw std::invalid_argument("timing: max_warmup_runs is below 1");
}

}  // namespace

double TimeOnce(const std::function<void()>& body) {
  const double begin = SteadyNow();
  body();
  return SteadyNow() - begin;
}

RunTimer::RunTimer(const RunTimerOptions& options) : pinned_(options.pin) {
  if (options.gpu_clock) gpu_clock_ = std::make_unique<GpuClock>();
  Forget();
}

RunTimer::~RunTimer() = default;

void RunTimer::Forget() {
  result_ = {};
  result_.pinned_to = pinned_.processor();
  busy_ = all_ = 0;
  if (gpu_clock_) result_.peak_mhz = gpu_clock_->peak_mhz();
}

double RunTimer::Time(const std::function<void()>& body) {
  if (gpu_clock_) gpu_clock_->Begin(), gpu_clock_->Wait();
  const CoresUsed cores;
  const double seconds = TimeOnce(body);
  busy_ += cores.SoFar() * seconds;
  all_ += seconds;
  if (gpu_clock_) {
    gpu_clock_->End();
    KeepClock(gpu_clock_->Mhz(), result_);
  }
  result_.seconds.push_back(seconds);
  result_.cores_used = all_ > 0 ? busy_ / all_ : 0;
  return seconds;
}

TimingResult TimeRepeated(const std::function<void()>& body, const RepeatOptions& options) {
  CheckOptions(options);
  const Pinned pinned(options.pin);
  Watch watch(body, options);
  const double deadline = watch.Now() + options.budget;
  watch.WarmUp(deadline - options.budget / 2);  // at most half of the budget
  TimingResult result = Describe(watch);
  const CoresUsed cores;
  StopRule rule({options.min_samples, options.max_samples, options.target});
  do {
    result.seconds.push_back(watch.Sample());
    if (options.gpu_clock) KeepClock(watch.last_mhz, result);
  } while (!rule.Stop(result.seconds.size(), watch.Now(), deadline,
                      [&] { return MedianInterval(result.seconds, kSeed); }));
  result.cores_used = cores.SoFar();
  result.pinned_to = pinned.processor();
  result.steady = IsSteady(result.seconds);
  result.stop_reason = rule.reason;
  return result;
}

TimingResult TimeAfterFirstCall(const std::function<void()>& body, double first_seconds,
                                const RepeatOptions& options) {
  CheckOptions(options);
  constexpr double kWarmUpToo = 3;  // warming up may take half of the budget
  if (kWarmUpToo * first_seconds * options.min_samples <= options.budget) {
    return TimeRepeated(body, options);
  }
  RunTimer timer({.gpu_clock = options.gpu_clock, .pin = options.pin});
  const int fitting = static_cast<int>(options.budget / first_seconds);
  const int least = first_seconds < kLongCall ? 3 : 2;
  const int samples = std::min(options.min_samples, std::max(least, fitting));
  for (int i = 0; i < samples; ++i) timer.Time(body);
  TimingResult result = timer.result();
  result.warmup_runs = 1;
  result.steady = IsSteady(result.seconds);
  result.stop_reason = "samples";
  return result;
}

}  // namespace retable::harness
