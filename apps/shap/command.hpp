#pragma once
//! @file
//! `retable shap`: attributions of any XGBoost, LightGBM or exported forest, for rows of a CSV or
//! ARFF file, written as CSV.
//!
//! Rows are read, explained and written a chunk at a time, so neither file need fit into memory; a
//! chunk that does not fit into a device's memory is halved.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments::treeshap {

//! Runs the command; `args` follow the verb. A summary goes to `out` (the results themselves where
//! no --out is given), progress and errors to `err`.
//! @return 0 done; 1 wrong usage; 2 it failed
int ShapMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments::treeshap
