#pragma once
//! @file
//! `retable compare A B`: what became faster or slower between two results folders.
//!
//! Cells are paired by what they are (experiment, label, algorithm, parameters, device, data set,
//! axes), not by key, since a change of the sources changes the key: so two commits are compared by
//! running each into a folder of its own. Pairs of other settings, seed or bytes of data are
//! counted and not compared. A cell is judged once, by its time (a rate where it has none), by the
//! rule of harness/stats/significance.hpp with the noise floor that an A/A run left in the folders,
//! or that is measured now (harness/stats/noise.hpp). Other times of a cell are parts of it: shown
//! where they changed, not counted. Other metrics are only said to have changed. The two runs were
//! not interleaved, so what differs between the environments is named first, and samples of the two
//! are never pooled. To interleave: harness/run/paired_run.hpp.

#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "harness/report/artifact.hpp"
#include "harness/stats/noise.hpp"
#include "harness/stats/significance.hpp"

namespace retable::harness {

//! A time or rate of a cell that both folders have.
struct ComparedMetric {
  std::string experiment, cell, metric, unit;
  double old_median = 0, new_median = 0;
  Interval ratio{};  //!< new time / old time; a rate's is inverted so that above 1 is slower
  Significance significance = Significance::kAmbiguous;
  bool part = false;  //!< not the cell's own time: not counted
};

struct Comparison {
  std::vector<ComparedMetric> timed;
  std::vector<std::string> changed;   //!< other metrics with another median, one line each
  std::vector<std::string> worsened;  //!< cells that were ok and are not any more
  int unchanged = 0;                  //!< other metrics with the same median
  int only_old = 0, only_new = 0;     //!< cells without a partner
  int unlike = 0;                     //!< pairs of other settings, seed or data: not compared
  std::set<std::string> unlike_in;    //!< "settings.budget", "seed", "data"
};

Comparison CompareArtifacts(const std::vector<Artifact>& old_run,
                            const std::vector<Artifact>& new_run, const Noise& noise = {});

//! Prints times and what worsened, with the next command for each kind of verdict.
void PrintComparison(const Comparison& comparison, std::ostream& out, bool in_turns = false);
//! 5 when under `strict` something is slower or is no longer ok, else 0.
int ExitOf(const Comparison& comparison, bool strict);

//! A cell that is ok and timed on both sides, which were made to do the same.
struct TimedPair {
  const ArtifactCell *before, *after;
};

//! What an A/A stretch of these cells shows; pairs = 0 where it cannot be measured here.
using FloorMeasurement = std::function<Noise(const std::vector<TimedPair>&)>;

//! "GBDT [cpu, iris, size=3, w=8]": label, device, data set and axes of a cell.
std::string NameOf(const CellConfig& config);

//! Prints the comparison.
//! @param measure called where neither folder has a noise floor. @return 0; 5 under `strict` when
//! something is slower or is no longer ok; 6 when the folders have nothing in common. @throws
//! StoreError when a folder has no results
int Compare(const std::string& folder_a, const std::string& folder_b, bool strict,
            const FloorMeasurement& measure, std::ostream& out);

}  // namespace retable::harness
