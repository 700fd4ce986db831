#include "harness/stats/significance.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace retable::harness {

std::string_view Name(Significance significance) {
  constexpr std::string_view kNames[] = {"faster", "slower", "same", "ambiguous", "not steady"};
  return kNames[static_cast<std::size_t>(significance)];
}

Significance Decide(const Interval& ratio, bool steady, const SignificanceRule& rule) {
  const bool known =
      ratio.method != IntervalMethod::kNone && ratio.method != IntervalMethod::kPoint;
  if (!known || std::isnan(ratio.low) || std::isnan(ratio.high)) return Significance::kAmbiguous;
  const double f = rule.noise_floor, m = std::max(rule.margin, rule.noise_floor);
  const bool slower = ratio.low > 1 + f, faster = ratio.high < 1 / (1 + f);
  // Neither beyond the noise, so it meets the noise.
  if (!slower && !faster && ratio.low >= 1 / (1 + m) && ratio.high <= 1 + m)
    return Significance::kSame;
  if (!steady) return Significance::kNotSteady;
  if (slower) return Significance::kSlower;
  return faster ? Significance::kFaster : Significance::kAmbiguous;
}

TimesCompared CompareTimes(std::span<const double> old_times, std::span<const double> new_times,
                           const SignificanceRule& rule, bool steady) {
  TimesCompared result{RatioOfMedians(new_times, old_times, 1), Significance::kAmbiguous};
  // One sample on either side says nothing of its own spread.
  if (old_times.size() < 2 || new_times.size() < 2) return result;
  const double most = std::max(rule.unsteady, rule.noise_floor);
  steady = steady && std::abs(Drift(old_times)) <= most && std::abs(Drift(new_times)) <= most;
  result.significance = Decide(result.ratio, steady, rule);
  return result;
}

std::string NextStep(Significance significance, const std::string& experiment, bool in_turns) {
  const std::string run =
      in_turns ? "the same command" : "build/retable run " + experiment + " --force";
  switch (significance) {
    case Significance::kFaster:
      return "make sure that it is still right: build/retable check";
    case Significance::kSlower:
      return "look at the samples: build/retable explain KEY; then measure once more: " + run;
    case Significance::kSame:
      return "nothing to do";
    case Significance::kNotSteady:
      return "the machine changed its pace while measuring; find out why (build/retable doctor), "
             "then: " +
             run;
    case Significance::kAmbiguous:
      break;
  }
  return "more samples are needed: " + run + (in_turns ? " with --blocks 60" : " --repeats 20");
}

}  // namespace retable::harness
