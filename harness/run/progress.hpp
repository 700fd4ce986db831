#pragma once
//! @file
//! What a run shows while it works: a status line with done/total and time left on a terminal, one
//! line a cell elsewhere.

#include <chrono>
#include <iosfwd>
#include <string>

#include "harness/protocol.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {

//! "12 s", "3 min 05 s", "2 h 10 min".
std::string DurationText(double seconds);

//! What of a line fits into the terminal of the standard error (100 letters at most), so that it
//! can be written over.
std::string OneLine(std::string text);

class Progress {
 public:
  Progress(std::ostream& log, bool terminal, std::size_t total)
      : log_(log), terminal_(terminal), total_(total) {}
  void Started(const CellConfig& cell);
  void Finished(const CellRecord& record);
  //! Seconds of the run that are left, as estimated by the caller. Between two calls they pass.
  void SetLeft(double seconds);
  //! One more than was planned: a cell that is measured once more.
  void Remeasured(const CellRecord& record);
  //! A line of its own, at once.
  void Say(const std::string& line);
  //! Refreshes the status line, at most ten times a second.
  void Tick();
  void Done();

 private:
  std::string StatusLine() const;

  std::ostream& log_;
  bool terminal_;
  std::size_t total_, done_ = 0;
  int failed_ = 0, unsteady_ = 0;
  double left_ = 0;
  std::chrono::steady_clock::time_point left_at_{};
  std::string current_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace retable::harness
