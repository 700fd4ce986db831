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
//! can tell: `rows`, or a multiple of `first` below. @param seconds_of explains so many rows, and
//! says how long that took
template <class SecondsOf>
Portion Affordable(std::size_t rows, std::size_t first, double budget, SecondsOf&& seconds_of) {
  std::size_t count = std::min(rows, first);
  for (;;) {
    const double seconds = seconds_of(count);
    if (count == rows) return {count, seconds};
    if (seconds > budget / 4) {
      const double more = std::max(1.0, budget / seconds);
      const auto most = static_cast<std::size_t>(static_cast<double>(count) * more);
      const std::size_t taken = most < rows ? most - most % first : rows;
      return {taken, seconds * static_cast<double>(taken) / static_cast<double>(count)};
    }
    count = std::min(rows, count * 4);
  }
}

}  // namespace retable::experiments::treeshap
