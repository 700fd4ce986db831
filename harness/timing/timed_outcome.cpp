#include "harness/timing/timed_outcome.hpp"

#include "harness/stats/statistics.hpp"

namespace retable::harness {

void AddTiming(Outcome& outcome, const TimingResult& timing) {
  outcome.metrics.push_back({"time", "s", timing.seconds, {}, {}});
  DescribeTiming(outcome, timing);
}

void DescribeTiming(Outcome& outcome, const TimingResult& timing) {
  if (!timing.stop_reason.empty()) {  // the caller's own loop has none, and no warm-up of ours
    outcome.facts["iterations"] = timing.iterations;
    outcome.facts["warmup_runs"] = timing.warmup_runs;
    outcome.facts["stopped_by"] = timing.stop_reason;
    outcome.facts["steady"] = timing.steady;
  }
  if (timing.cores_used > 0) outcome.facts["cores_used"] = timing.cores_used;
  if (timing.pinned_to >= 0) outcome.facts["pinned_to"] = std::int64_t{timing.pinned_to};
  if (!timing.included.empty()) outcome.facts["timed"] = timing.included;
  AddClock(outcome, timing);
}

void AddClock(Outcome& outcome, const TimingResult& timing) {
  if (timing.sm_mhz.empty()) return;
  for (Metric& metric : outcome.metrics) {
    if (metric.name == "time" && metric.samples.size() == timing.sm_mhz.size()) {
      metric.sm_mhz = timing.sm_mhz;
    }
  }
  outcome.facts["sm_mhz"] = Quantile(timing.sm_mhz, 0.5);
  outcome.facts["sm_mhz_peak"] = timing.peak_mhz;
  outcome.facts["throttled_samples"] = timing.throttled;
}

void AddRate(Outcome& outcome, const TimingResult& timing, double items, const std::string& unit,
             double scale) {
  Metric rate{"rate", unit, {}, {}, {}};
  for (const double seconds : timing.seconds) rate.samples.push_back(items / seconds / scale);
  outcome.metrics.push_back(std::move(rate));
}

}  // namespace retable::harness
