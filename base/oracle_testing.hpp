#pragma once
//! @file
//! Oracle tests: random cases against a slow, plain answer, for as long as there is time.
//!
//! A test program's `Oracle*` tests run briefly in `make test` and for RETABLE_ORACLE_SECONDS each
//! in `make oracle`. Seeds and numbers of cases are printed; a failing case is shrunk before it is
//! shown.

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace retable {

//! `for (OracleClock clock; clock.more();)` draws cases until the time is spent.
class OracleClock {
 public:
  //! @param brief_seconds in `make test`, where RETABLE_ORACLE_SECONDS is not set
  explicit OracleClock(double brief_seconds = 1) {
    const char* given = std::getenv("RETABLE_ORACLE_SECONDS");
    const std::chrono::duration<double> length(given != nullptr ? std::stod(given) : brief_seconds);
    end_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(length);
  }
  ~OracleClock() { std::cout << "ORACLE_CASES=" << cases_ << std::endl; }
  OracleClock(const OracleClock&) = delete;
  OracleClock& operator=(const OracleClock&) = delete;
  //! Counts one more case where one is granted; the first always is.
  bool more() {
    const bool granted = cases_ == 0 || std::chrono::steady_clock::now() < end_;
    cases_ += granted ? 1 : 0;
    return granted;
  }
  //! Cases granted so far.
  std::size_t cases() const { return cases_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now();
  std::size_t cases_ = 0;
};

//! The items of a failing case without those that the failure does not need: leaves out halves,
//! quarters and so on down to single items for as long as the case still fails.
//! Source: Zeller, Hildebrandt (2002), Simplifying and Isolating Failure-Inducing Input.
template <class T, class Fails>
std::vector<T> Shrink(std::vector<T> items, const Fails& fails) {
  for (std::size_t length = (items.size() + 1) / 2; length > 0;) {
    bool shrunk = false;
    for (std::size_t begin = 0; begin < items.size();) {
      std::vector<T> without(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(begin));
      const std::size_t end = begin + length < items.size() ? begin + length : items.size();
      without.insert(without.end(), items.begin() + static_cast<std::ptrdiff_t>(end), items.end());
      if (without.size() < items.size() && fails(without)) {
        items = without;
        shrunk = true;
      } else {
        begin = end;
      }
    }
    if (!shrunk || length > 1) length /= 2;
  }
  return items;
}

}  // namespace retable
