#include "harness/run/steadiness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/roofline/roofline_fraction.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

constexpr double kThrottledSamples = 0.1;

template <class T>
T FactOr(const Outcome& outcome, const std::string& name, T fallback) {
  const auto found = outcome.facts.find(name);
  if (found == outcome.facts.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? fallback : *value;
}

void Add(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : "; ") + more;
}

}  // namespace

bool IsTimed(const Outcome& outcome) {
  return outcome.status == "ok" && std::ranges::any_of(outcome.metrics, [](const Metric& m) {
           return IsTime(m.unit) || IsRate(m.unit);
         });
}

void JudgeSteadiness(Outcome& outcome, const std::string& device,
                     const std::optional<Activity>& activity) {
  if (!IsTimed(outcome)) return;
  const Metric* time = TimeOf(outcome);
  const std::size_t samples = time == nullptr ? 0 : time->samples.size();
  std::string why;
  if (!FactOr(outcome, "steady", true)) {
    const double drift = time == nullptr ? 0 : Drift(time->samples);
    Add(why, fmt::format("the last third of its samples took {:.0f} % {} than the first",
                         100 * std::abs(drift), drift < 0 ? "less" : "more"));
  }
  const bool threads = device == "cpu" && !outcome.facts.contains("pinned_to");
  if (activity && activity->Busy(threads)) Add(why, activity->Text());
  const auto throttled = FactOr<std::int64_t>(outcome, "throttled_samples", 0);
  if (static_cast<double>(throttled) > kThrottledSamples * static_cast<double>(samples)) {
    Add(why, fmt::format("the GPU's clock was low in {} of {} samples", throttled, samples));
  }
  if (activity) outcome.facts["others_processors"] = activity->others;
  outcome.facts["steady"] = why.empty();
  if (!why.empty()) outcome.facts["unsteady"] = why;
}

std::string WhyUnsteady(const Outcome& outcome) {
  return FactOr(outcome, "unsteady", std::string());
}

std::string WhyUnsteady(const Outcome& outcome, const std::string& unit) {
  return IsTime(unit) || IsRate(unit) ? WhyUnsteady(outcome) : "";
}

}  // namespace retable::harness
