#pragma once
//! @file
//! An A/A stretch: cells of results folders executed again and again with one program, to learn the
//! noise floor where none is stored.
//!
//! The cells are executed in sweeps, one after the other and then all again, so that the executions
//! of a cell lie apart in time as those of two runs do. Any two executions of a cell are a pair of
//! equal code (harness/stats/noise.hpp). So are an execution and what a folder stores of the same
//! cell, if its key says that this program measured it, in an environment like the one here: then
//! the floor also holds what changed on the machine since.

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/protocol.hpp"
#include "harness/stats/noise.hpp"

namespace retable::harness {

//! A cell that may be executed.
struct StretchCell {
  CellConfig config;
  double time = 0;                          //!< what it timed; noise depends on it
  double seconds = 0;                       //!< wall time of an execution
  std::vector<std::vector<double>> stored;  //!< times of the same code, one entry a folder
};

//! Takes about 20 s; longer where two executions of the shortest cell do.
//! @param program executes the cells. @return AssumedNoise() where no cell could be executed, or
//! the shortest takes over a minute
Noise MeasureStretch(std::vector<StretchCell> cells, const std::string& program, std::ostream& log);

}  // namespace retable::harness
