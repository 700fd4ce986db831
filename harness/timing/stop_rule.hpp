#pragma once
//! @file
//! When enough samples were taken: the interval is narrow, there are as many as were asked for at
//! most, or the budget is spent. Shared by the CPU's and the GPU's timing loops.
//!
//! A rule that looks after every sample stops too early now and then by luck, and an interval costs
//! more than a short sample; so it looks at the first chance and then each time a fifth further on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "harness/stats/statistics.hpp"

namespace retable::harness {

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
