#pragma once
//! @file
//! When the time of a cell can be trusted. A timed cell is steady when
//!
//!   1. the median of the last third of its samples is within 5 % of that of the first third
//!      (harness/timing; from nine samples on),
//!   2. other processes and the hypervisor took at most a tenth of the processors while it ran, and
//!      no processor was slowed for heat (harness/machine/activity.hpp; cells that have the machine
//!      to themselves); at most half of one processor where it ran on the CPU and was not pinned to
//!      one processor,
//!   3. at most a tenth of its samples ran below three quarters of the GPU's peak clock.
//!
//! A claim that reads the time of an unsteady cell is neither held nor broken (UNSTEADY); its
//! published cells are judged and marked.

#include <optional>
#include <string>

#include "harness/machine/activity.hpp"
#include "harness/protocol.hpp"

namespace retable::harness {

//! Whether it answered and has a time or a rate.
bool IsTimed(const Outcome& outcome);

//! Sets the facts `steady`, `unsteady` (why) and `others_processors` of a timed outcome.
//! @param device where it ran: "cpu" or "cuda"
//! @param activity while it ran; nothing where others of this run ran beside it
void JudgeSteadiness(Outcome& outcome, const std::string& device,
                     const std::optional<Activity>& activity);

//! Why its time is not steady; empty where it is, or where nothing tells.
std::string WhyUnsteady(const Outcome& outcome);
//! The same of its metric with this unit: empty for what is neither a time nor a rate.
std::string WhyUnsteady(const Outcome& outcome, const std::string& unit);

}  // namespace retable::harness
