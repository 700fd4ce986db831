#pragma once
//! @file
//! The roofline fraction of a timed method: how much of the machine's ceiling it reaches.
//!
//! A method declares the work it cannot do without (Cost); `retable doctor --measure` and every
//! timed run measure what the machine can do (Ceiling). Work over time over ceiling is the
//! fraction. Where several kinds of work are declared the largest fraction is shown: that ceiling
//! binds. A fraction near 1 leaves nothing to gain; one above 1 means that the work did not go
//! through the ceiling's resource (data small enough for a cache), and is shown as it is. Tables
//! and CSVs call the fraction "share".

#include <optional>
#include <string>
#include <vector>

#include "harness/protocol.hpp"
#include "harness/roofline/ceilings.hpp"

namespace retable::harness {

struct RooflineFraction {
  double value = 0;     //!< 1 is the ceiling
  std::string ceiling;  //!< "copy, 4022 GB/s"
};

//! The fraction of the binding ceiling, or nothing when no cost or no fitting ceiling is known.
//! @param seconds of one run
//! @param device "cpu" or "cuda"
std::optional<RooflineFraction> RooflineFractionOf(const std::vector<Cost>& costs, double seconds,
                                                   const std::string& device,
                                                   const std::vector<Ceiling>& ceilings);

//! The same of an outcome's metric "time" (its median).
std::optional<RooflineFraction> RooflineFractionOf(const Outcome& outcome,
                                                   const std::string& device,
                                                   const std::vector<Ceiling>& ceilings);

//! Whether a unit is of a time ("s", "ms", "us", "ns"), or of a rate ("items/s").
bool IsTime(const std::string& unit);
bool IsRate(const std::string& unit);

//! The metric of this name, or null.
const Metric* FindMetric(const Outcome& outcome, const std::string& name);

//! The metric that a cell is timed by: "time", or else the first that is a time, or null.
const Metric* TimeOf(const Outcome& outcome);

}  // namespace retable::harness
