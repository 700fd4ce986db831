#include "harness/run/remeasure.hpp"

#include <fmt/format.h>

#include <limits>

#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/steadiness.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

constexpr std::uint64_t kIntervalSeed = 1;

template <class T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Facts that count samples add up.
void AddCount(const std::string& name, Values& to, const Values& from) {
  const auto a = to.find(name);
  const auto b = from.find(name);
  if (a == to.end() || b == from.end()) return;
  auto* count = std::get_if<std::int64_t>(&a->second);
  const auto* more = std::get_if<std::int64_t>(&b->second);
  if (count != nullptr && more != nullptr) *count += *more;
}

}  // namespace

std::optional<double> RelativeWidth(const Outcome& outcome) {
  const Metric* time = TimeOf(outcome);
  if (outcome.status != "ok" || time == nullptr || time->samples.empty()) return std::nullopt;
  const Interval interval = MedianInterval(time->samples, kIntervalSeed);
  if (time->samples.size() < 2 || !(interval.estimate > 0)) {
    return std::numeric_limits<double>::infinity();
  }
  return (interval.high - interval.low) / 2 / interval.estimate;
}

std::int64_t Executions(const Outcome& outcome) {
  const auto found = outcome.facts.find("executions");
  if (found == outcome.facts.end()) return 1;
  const auto* count = std::get_if<std::int64_t>(&found->second);
  return count ? *count : 1;
}

void AddExecution(CellRecord& record, const Outcome& more) {
  Outcome& outcome = record.outcome;
  const std::int64_t executions = Executions(outcome) + 1;
  outcome.facts["executions"] = executions;
  outcome.attachments = more.attachments;  // those of a loaded record are files
  if (more.status != "ok") {
    outcome.status = more.status;
    outcome.reason = fmt::format("execution {}: {}", executions, more.reason);
    outcome.verification = more.verification;
    return;
  }
  for (Metric& metric : outcome.metrics) {
    if (!IsTime(metric.unit) && !IsRate(metric.unit)) continue;
    for (const Metric& again : more.metrics) {
      if (again.name != metric.name || again.unit != metric.unit) continue;
      Append(metric.samples, again.samples);
      Append(metric.groups, again.groups);
      Append(metric.items, again.items);
      Append(metric.sm_mhz, again.sm_mhz);
    }
  }
  AddCount("throttled_samples", outcome.facts, more.facts);
  if (!WhyUnsteady(more).empty()) {
    for (const char* fact : {"steady", "unsteady", "others_processors"}) {
      if (more.facts.contains(fact)) outcome.facts[fact] = more.facts.at(fact);
    }
  }
  const auto* time = TimeOf(outcome);
  if (outcome.facts.contains("sm_mhz") && time != nullptr && !time->sm_mhz.empty()) {
    outcome.facts["sm_mhz"] = Quantile(time->sm_mhz, 0.5);
  }
}

}  // namespace retable::harness
