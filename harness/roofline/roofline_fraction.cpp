#include "harness/roofline/roofline_fraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

// Units of work in one unit of the ceiling: "GB/s" and "G/s" count 10^9 a second.
double Scale(const std::string& unit) {
  if (unit == "GB/s" || unit == "G/s" || unit == "GFLOP/s") return 1e9;
  return 0;  // a latency is no ceiling of work
}

// CPU ceilings are measured on one thread and, where there are more, on all.
bool Fits(const Ceiling& ceiling, const Cost& cost, const std::string& device) {
  if (ceiling.name != cost.ceiling) return false;
  if (device == "cuda") return ceiling.device == "cuda";
  if (!ceiling.device.starts_with("cpu, ")) return false;
  const bool one = ceiling.device == "cpu, 1 thread";
  return cost.parallel ? !one : one;
}

double SecondsIn(const std::string& unit) {
  return unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "ns" ? 1e-9 : 1;
}

}  // namespace

bool IsTime(const std::string& unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns";
}

bool IsRate(const std::string& unit) {
  return unit.size() > 2 && unit.ends_with("/s");
}

const Metric* FindMetric(const Outcome& outcome, const std::string& name) {
  const auto found = std::ranges::find(outcome.metrics, name, &Metric::name);
  return found == outcome.metrics.end() ? nullptr : &*found;
}

const Metric* TimeOf(const Outcome& outcome) {
  const Metric* first = nullptr;
  for (const Metric& metric : outcome.metrics) {
    if (!IsTime(metric.unit)) continue;
    if (metric.name == "time") return &metric;
    if (first == nullptr) first = &metric;
  }
  return first;
}

std::optional<RooflineFraction> RooflineFractionOf(const std::vector<Cost>& costs, double seconds,
                                                   const std::string& device,
                                                   const std::vector<Ceiling>& ceilings) {
  std::optional<RooflineFraction> best;
  if (!(seconds > 0) || !std::isfinite(seconds)) return best;
  for (const Cost& cost : costs) {
    for (const Ceiling& ceiling : ceilings) {
      const double scale = Scale(ceiling.unit) * ceiling.value;
      if (!Fits(ceiling, cost, device) || !(scale > 0)) continue;
      const double fraction = cost.amount / seconds / scale;
      if (best && best->value >= fraction) continue;
      best = RooflineFraction{
          fraction, fmt::format("{}, {:.4g} {}", ceiling.name, ceiling.value, ceiling.unit)};
    }
  }
  return best;
}

std::optional<RooflineFraction> RooflineFractionOf(const Outcome& outcome,
                                                   const std::string& device,
                                                   const std::vector<Ceiling>& ceilings) {
  const Metric* time = TimeOf(outcome);
  if (time == nullptr || outcome.costs.empty()) return std::nullopt;
  return RooflineFractionOf(outcome.costs, Quantile(time->samples, 0.5) * SecondsIn(time->unit),
                            device, ceilings);
}

}  // namespace retable::harness
