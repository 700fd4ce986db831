#pragma once
//! @file
//! Measuring a cell once more, in a process of its own, where its interval is widest.
//!
//! The spread between processes (where memory lands, which clock the processor took) is often
//! larger than the spread within one, so that more samples of the same process do not help; more
//! processes do (Kalibera and Jones 2013). A timed cell that is measured again keeps its old
//! samples and gains the new ones. Everything that is not a time or a rate depends on the seed
//! alone and is kept as it is.

#include <optional>

#include "harness/run/store.hpp"

namespace retable::harness {

//! Half the width of the 95 % interval of a cell's time over its median; infinite for one sample;
//! nothing for a cell that is not timed or not ok.
std::optional<double> RelativeWidth(const Outcome& outcome);

//! Adds the samples of another execution of the same cell; one that was not steady makes the whole
//! unsteady. Attachments are those of the other execution. An execution that failed or gave a wrong
//! result is a finding: its status and reason replace those of the record.
void AddExecution(CellRecord& record, const Outcome& more);

//! How many processes measured a record.
std::int64_t Executions(const Outcome& outcome);

}  // namespace retable::harness
