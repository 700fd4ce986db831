#pragma once
//! @file
//! The parts of shapley_gpu_check.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>

namespace retable::experiments {

//! Prints "ok" or "FAIL" and counts the failures.
void Report(const std::string& what, bool ok);

//! Seconds of the fastest of `repeats` calls.
template <class F>
double Best(int repeats, F call) {
  using Clock = std::chrono::steady_clock;
  double best = INFINITY;
  for (int r = 0; r < repeats; ++r) {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

//! Networks and image games on the device against their CPU twins.
void CheckImages(std::uint64_t seed, bool small);
//! What many coalitions of the own networks take, as rows of the check's CSV.
void TimeImages(std::ostream& csv);

}  // namespace retable::experiments
