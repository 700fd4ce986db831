#pragma once
//! @file
//! Whether a table's value is of one method at one point.

#include "harness/config/experiment.hpp"

namespace retable::harness {

//! A value of a table is a statistic of all cells of its row, pivot and `where`. Data sets may
//! differ there, on purpose; methods, their parameters and the axes may not.
//! @throws ConfigError that names what a column would pool
void RefusePooling(const Experiment& experiment);

}  // namespace retable::harness
