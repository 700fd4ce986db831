#pragma once
//! @file
//! Binding the calling thread to one processor, the clock, and how many processors were busy.

#include <sched.h>

namespace retable::harness {

//! Binds the calling thread to the processor it runs on, for as long as this lives.
class Pinned {
 public:
  explicit Pinned(bool wanted);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int processor() const { return processor_; }  //!< -1 when not bound

 private:
  int processor_ = -1;
  cpu_set_t before_{};
};

//! Seconds of the steady clock.
double SteadyNow();

//! Processor time over wall time of this process since construction.
class CoresUsed {
 public:
  CoresUsed();
  double SoFar() const;

 private:
  double wall_, processor_;
};

}  // namespace retable::harness
