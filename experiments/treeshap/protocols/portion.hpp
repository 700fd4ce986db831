#pragma once
//! @file
//! How many rows a method explains that is too slow for all of them: its time is scaled up, so the
//! rows must be enough that a call's fixed costs and the first rows' cold caches do not decide.

#include <algorithm>
#include <cstddef>

namespace retable::experiments::treeshap {

//! Rows that a time is scaled from at least: 1,000, or 5 % of the rows wanted where that is less.
inline std::size_t LeastRows(std::size_t wanted) {
  return std::min<std::size_t>(1000, (wanted + 19) / 20);
}

//! The first rows of a batch, and the seconds that explaining them takes.
struct Portion {
  std::size_t rows = 0;
  double seconds = 0;
};

//! `least` rows, or as many more as make whole rounds of `threads`. Of 24 rows that 16 threads
//! share, the last 8 take as long as 16 would, which scaling multiplies.
inline std::size_t WholeRounds(std::size_t least, std::size_t threads) {
  return (least + threads - 1) / threads * threads;
}

//! Rows that one call explains within `budget` seconds, as far as four times more than were tried
//! can tell: `rows`, or a multiple of `first` below. A method of which four times the rows take
//! less than three times as long has a fixed cost of more than a ninth, which scaling would
//! multiply: it explains more, for up to ten times the budget. @param seconds_of explains so many
//! rows, and says how long that took
template <class SecondsOf>
Portion Affordable(std::size_t rows, std::size_t first, double budget, SecondsOf&& seconds_of) {
  std::size_t count = std::min(rows, first), least = count;
  double before = 0;
  for (;;) {
    const double seconds = seconds_of(count);
    if (count == rows) return {count, seconds};
    const bool fixed = seconds < 3 * before;
    if (seconds > budget * (fixed ? 10 : before > 0 ? 0.25 : 1)) {
      const auto most = static_cast<std::size_t>(static_cast<double>(count) * budget / seconds);
      const std::size_t taken = std::clamp(most - most % first, least, rows);
      return {taken, seconds * static_cast<double>(taken) / static_cast<double>(count)};
    }
    before = seconds;
    count = std::min(rows, count * 4);
    if (fixed) least = count;
  }
}

}  // namespace retable::experiments::treeshap
