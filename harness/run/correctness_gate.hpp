#pragma once
//! @file
//! The harness's own check of what a protocol reports: correct before timed.

#include "harness/protocol.hpp"

namespace retable::harness {

//! The outcome, with status wrong_result where its verification failed or is not a number, and
//! failed where it has no sample, or a negative or infinite time.
Outcome Gate(Outcome outcome);

}  // namespace retable::harness
