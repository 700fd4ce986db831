#include "harness/change.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace retable::harness {

std::string_view Name(Change change) {
  switch (change) {
    case Change::kFaster:
      return "faster";
    case Change::kSlower:
      return "slower";
    case Change::kSame:
      return "same";
    case Change::kNotSteady:
      return "not steady";
    case Change::kAmbiguous:
      break;
  }
  return "ambiguous";
}

Change Decide(const Interval& ratio, bool steady, const ChangeRule& rule) {
  const bool known =
      ratio.method != IntervalMethod::kNone && ratio.method != IntervalMethod::kPoint;
  if (!known || std::isnan(ratio.low) || std::isnan(ratio.high)) return Change::kAmbiguous;
  if (!steady) return Change::kNotSteady;
  const double f = rule.noise_floor, m = std::max(rule.margin, rule.noise_floor);
  if (ratio.low > 1 + f) return Change::kSlower;
  if (ratio.high < 1 - f) return Change::kFaster;
  // Neither beyond the noise, so it meets the noise.
  const bool within = ratio.low >= 1 - m && ratio.high <= 1 + m;
  return within ? Change::kSame : Change::kAmbiguous;
}

TimesCompared CompareTimes(std::span<const double> old_times, std::span<const double> new_times,
                           const ChangeRule& rule) {
  TimesCompared result{RatioOfMedians(new_times, old_times, 1), Change::kAmbiguous};
  // One sample on either side says nothing of its own spread.
  if (old_times.size() < 2 || new_times.size() < 2) return result;
  const bool steady =
      std::abs(Drift(old_times)) <= rule.unsteady && std::abs(Drift(new_times)) <= rule.unsteady;
  result.change = Decide(result.ratio, steady, rule);
  return result;
}

std::string NextStep(Change change, const std::string& experiment, bool in_turns) {
  const std::string run =
      in_turns ? "the same command" : "build/retable run " + experiment + " --force";
  switch (change) {
    case Change::kFaster:
      return "make sure that it is still right: build/retable check";
    case Change::kSlower:
      return "look at the samples: build/retable explain KEY; then measure once more: " + run;
    case Change::kSame:
      return "nothing to do";
    case Change::kNotSteady:
      return "the machine changed its pace while measuring; find out why (build/retable doctor), "
             "then: " +
             run;
    case Change::kAmbiguous:
      break;
  }
  return "more samples are needed: " + run + (in_turns ? " with --blocks 60" : " --repeats 20");
}

double NoiseFloor(std::span<const PairedBlock> same_body) {
  constexpr std::size_t kGroup = 10;
  std::vector<double> distances;
  for (std::size_t begin = 0; begin + kGroup <= same_body.size(); begin += kGroup) {
    distances.push_back(std::abs(PairedRatio(same_body.subspan(begin, kGroup), 1).estimate - 1));
  }
  const double floor = Quantile(distances, 0.95);
  return std::isnan(floor) ? ChangeRule{}.noise_floor : std::max(ChangeRule{}.noise_floor, floor);
}

}  // namespace retable::harness
