#pragma once
//! @file
//! What results/recorded/ still knows of an artifact whose cells are gone.
//!
//! Its tidy CSV has a summary of every metric of every cell: statistics of one cell come from it as
//! they were, and n, failures, min, max, sum, mean and std of several cells exactly. The rest (the
//! median of several cells, facts, groups of samples) is in the table as it was made, for columns
//! that are declared as then, with the intervals of published cells in verdicts.csv. The mean has
//! the interval mean +- 1.96 std / sqrt(n) within the range of the samples: the bootstrap needs
//! samples, and they are not kept.
//!
//! So layouts, published cells and claims may change after a recording: they are those of today's
//! TOML, judged on what was measured then.

#include "harness/config/experiment.hpp"
#include "harness/report/artifact.hpp"

namespace retable::harness {

//! Fills the cells' records and summaries, and `recorded_table`, from the artifact's files.
//! O(rows of the files). @throws StoreError where there is no tidy CSV, CsvError
void ReadRecording(Artifact& artifact);

//! Layout, claims and published cells of the experiment as it is today. Rows keep the labels, and
//! cells the parameters, that they were recorded with.
void Redeclare(Artifact& artifact, const Experiment& today);

}  // namespace retable::harness
