#pragma once
//! @file
//! The table of an artifact whose cells are not at hand, as its files have it: for the history,
//! which shows what stood there and judges nothing.

#include "harness/report/artifact.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {

//! Reads the table's CSV, and the tidy CSV for units, devices, data sets and intervals: a median of
//! one cell has the recorded one, a mean that of a normal distribution within the samples' range.
//! Any other value stands for itself. The artifact's cells become those of the tidy CSV.
//! O(columns * rows of the tidy CSV). @throws CsvError, ConfigError
Table ReadWrittenTable(Artifact& artifact);

}  // namespace retable::harness
