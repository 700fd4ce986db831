#pragma once
//! @file
//! What a run shows while it works: a status line with done/total and time left on a terminal, one
//! line a cell elsewhere.

#include <chrono>
#include <iosfwd>
#include <map>
#include <string>

#include "harness/protocol.hpp"
#include "harness/store.hpp"

namespace retable::harness {

//! "12 s", "3 min 05 s", "2 h 10 min".
std::string DurationText(double seconds);

class Progress {
 public:
  Progress(std::ostream& log, bool terminal, std::size_t total, int reused);
  void Started(const CellConfig& cell);
  void Finished(const CellRecord& record);
  //! Refreshes the status line, at most ten times a second.
  void Tick();
  void Done();

 private:
  double SecondsLeft() const;
  std::string StatusLine() const;

  std::ostream& log_;
  bool terminal_;
  std::size_t total_, done_ = 0;
  int failed_ = 0;
  std::string current_;
  std::chrono::steady_clock::time_point begun_, shown_{};
};

}  // namespace retable::harness
