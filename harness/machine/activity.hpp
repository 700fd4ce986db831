#pragma once
//! @file
//! What else the machine does while something is measured: time that other processes take of the
//! processors, and slowing for heat.
//!
//! From /proc/stat, over the processors that this process may use: the time of all processes, and
//! what the hypervisor takes, less the time of this process and of its ended children. So it is
//! exact only between moments at which no child runs. Where /proc/stat cannot be read, nothing is
//! known and nothing counts as busy.

#include <cstdint>
#include <string>
#include <string_view>

namespace retable::harness {

//! Counters at one moment.
struct ActivityReading {
  double wall = 0;             //!< seconds of the steady clock
  double busy = 0;             //!< processor seconds since boot, of all and of the hypervisor
  double own = 0;              //!< those of this process and its ended children
  std::int64_t throttled = 0;  //!< slowdowns for heat since boot
  int processors = 1;          //!< processors open to this process
};

ActivityReading ReadActivity();

//! The sum of the lines "cpuN" of /proc/stat with N in `processors`, without idle time, in ticks.
double BusyTicks(std::string_view stat, const std::string& processors);

//! What happened between two readings.
struct Activity {
  double seconds = 0;
  double others = 0;  //!< processors' worth of time that others took
  int processors = 1;
  std::int64_t throttled = 0;
  std::string busiest;  //!< names of the processes that took most; only where they were looked for

  //! Whether it can move a time: others took more than a tenth of the processors, or more than half
  //! of one beside a method of several `threads`, or a processor was slowed. Less than a quarter of
  //! a second tells nothing.
  bool Busy(bool threads = true) const;
  //! "other processes took 1.6 of 2 processors (cc1plus, ninja)".
  std::string Text() const;
};

Activity ActivityBetween(const ActivityReading& begin, const ActivityReading& end);

//! Looks for so many seconds, in which this process sleeps, and for the busiest processes too.
Activity WatchActivity(double seconds = 0.3);

}  // namespace retable::harness
