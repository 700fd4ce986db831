#pragma once
//! @file
//! When a body is warm, when enough samples of it were taken, and whether they drift. Shared by the
//! CPU's and the GPU's timing loops.
//!
//! Enough: the interval is narrow, there are as many as were asked for at most, or the budget is
//! spent. A rule that looks after every sample stops too early now and then by luck, and an
//! interval costs more than a short sample; so it looks at the first chance and then each time a
//! fifth further on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/stats/statistics.hpp"

namespace retable::harness {

//! Takes samples until three in a row agree to the share `agreement`, more() is false, or there are
//! `most`; at least one. `runs` counts them. @return the last three
template <typename More, typename Sample>
std::vector<double> WarmUp(double agreement, int most, std::int64_t& runs, More more,
                           Sample sample) {
  std::vector<double> last;
  while (runs < most && (runs == 0 || more())) {
    last.push_back(sample());
    ++runs;
    if (last.size() > 3) last.erase(last.begin());
    const auto [low, high] = std::ranges::minmax_element(last);
    if (last.size() == 3 && *high - *low <= agreement * *low) break;
  }
  return last;
}

//! Whether the samples, in the order taken, do not drift.
inline bool IsSteady(const std::vector<double>& samples) {
  return std::abs(Drift(samples)) <= 0.05;
}

class StopRule {
 public:
  struct Limits {
    int min_samples, max_samples;
    double target;  //!< half width of the interval over the estimate
  };

  explicit StopRule(const Limits& limits)
      : limits_(limits), next_(std::max(2, limits.min_samples)) {}

  //! @param make gives the interval; called only when it is looked at
  template <typename MakeInterval>
  bool Stop(std::size_t samples, double now, double deadline, MakeInterval make) {
    const auto n = static_cast<int>(samples);
    if (n >= next_) {
      next_ = n + std::max(1, n / 5);
      const Interval interval = make();
      const double half = (interval.high - interval.low) / 2;
      if (half <= limits_.target * std::abs(interval.estimate)) return Because("interval");
    }
    if (n >= limits_.max_samples) return Because("samples");
    if (n > 0 && now >= deadline) return Because("budget");
    return false;
  }

  std::string reason;  //!< "interval", "samples" or "budget", once stopped

 private:
  bool Because(const char* why) {
    reason = why;
    return true;
  }
  Limits limits_;
  int next_;
};

}  // namespace retable::harness
