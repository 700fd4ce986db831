#pragma once
//! @file
//! One cell in one child process, with a time limit and a memory watch.
//!
//! The child is this program again (`retable worker`): a crash, a hang, a leak or a poisoned CUDA
//! context ends the child and becomes a status of the cell, never the end of the run. The cell
//! travels to the child on its standard input, the outcome back on a pipe of its own, so that
//! whatever an algorithm prints cannot disturb it. The child and what it starts die with its
//! parent.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "harness/protocol.hpp"

namespace retable::harness {

struct WorkerLimits {
  double seconds = 600;
  //! Resident memory of the child and of what it started; what they share counts for each.
  double memory_mib = 8192;
};

struct WorkerResult {
  Outcome outcome;  //!< status timeout, oom or crash where the child did not answer
  double seconds = 0;
  double peak_mib = 0;
};

//! A running cell. Poll() is called often (every few hundredths of a second) until it answers.
class Worker {
 public:
  //! Starts the child. `program` is the path of a program like this one; where it is this one's
  //! own, the running program is started, whatever was written there since. @throws
  //! std::runtime_error when no process can be started.
  Worker(const std::string& program, const CellConfig& cell, const WorkerLimits& limits);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  //! The result once the child has ended or was stopped.
  std::optional<WorkerResult> Poll();
  //! Readable when the child answers or ends: for poll(2).
  int descriptor() const { return answer_; }

 private:
  void Drain();
  void WatchMemory();
  double Elapsed() const;
  void Stop(const std::string& status, const std::string& reason);
  WorkerResult Finish(int wait_status);
  void AddLastWords(Outcome& outcome) const;

  WorkerLimits limits_;
  pid_t child_ = -1;
  int answer_ = -1;
  int errors_ = -1;
  std::string answer_text_, error_text_;
  std::chrono::steady_clock::time_point started_;
  double peak_mib_ = 0;
  double next_look_ = 0;  // seconds after the start, at all processes
  int looks_over_ = 0;    // looks at a stretch that saw too much
  std::string stop_status_, stop_reason_;
};

//! Runs a cell in a worker to its end.
WorkerResult RunCell(const std::string& program, const CellConfig& cell,
                     const WorkerLimits& limits);

//! The child's side: reads a cell from standard input, measures it, answers on the pipe. Returns
//! the exit code.
int WorkerMain();

}  // namespace retable::harness
