#pragma once
//! @file
//! The verdict on one published cell, given what was measured here.
//!
//! The rule, in this order:
//!
//!   NO-DATA       the paper's value is not known.
//!   FAILED        the method failed, or its answer was wrong; the reason is its cell's.
//!   NOT-RUN       nothing was measured; the reason says why.
//!   NOT-JUDGED    measured at sizes that are too small to judge: the smoke profile; or of cells
//!                 some of which are not measured yet.
//!   DIFFERENT-HW  kind time: an absolute time belongs to its machine and is never judged. The
//!                 reason still says whether its order among the rows holds here, and sets its
//!                 speed here beside that of the paper's machine, and the two machines' memory
//!                 bandwidths or numbers of cores beside each other.
//!   MATCH         the measured 95 % interval lies in what agrees with the paper (Agrees() of
//!                 paper_cells.hpp: value and tolerance), so that noise does not help; a value
//!                 without an interval stands for itself, and so does one against a bound. Or every
//!                 sample failed, and the paper's cell is noted as "failed" too.
//!   TREND         it differs, what it says does not: the side or order below holds, and measured
//!                 and paper differ by a factor of at most 3.
//!   ORDER-ONLY    the side or order holds, the size does not. Never counted as reproduced.
//!   MISMATCH      none of these; a broken bound.
//!
//! Side or order:
//!   ratio                      measured and paper lie on the same side of 1;
//!   accuracy, setting, count   against the other measured rows of the same column, at least 80 %
//!                              of the pairs that the paper tells apart stand in the paper's order.
//!                              Told apart: neither value agrees with the other. Equal measured
//!                              values keep no order.
//!
//! Only cells of one kind are set in order, so a column may mix kinds; counts and times only within
//! one group (one model or data set). O(cells^2) within a column.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/paper_cells.hpp"

namespace retable::harness {

enum class VerdictKind {
  kMatch,
  kTrend,
  kOrderOnly,
  kMismatch,
  kFailed,
  kDifferentHardware,
  kNotRun,
  kNotJudged,
  kNoData
};
//! "MATCH", "TREND", "ORDER-ONLY", "MISMATCH", "FAILED", "DIFFERENT-HW", "NOT-RUN",
//! "NOT-JUDGED", "NO-DATA".
std::string_view Name(VerdictKind kind);

//! What was measured for a published cell.
struct MeasuredCell {
  bool run = false;
  bool failed = false;   //!< its method failed or answered wrongly
  std::string reason;    //!< why not, when it was not run or failed
  std::string group;     //!< its data set where it has a single one
  std::string unsteady;  //!< why its time is not steady, or empty
  std::string partial;   //!< how many cells behind it are not measured yet, or empty
  std::string machine;   //!< "Intel Xeon, 16 threads, NVIDIA H200, 4810 GB/s"; may be unknown
  double value = std::numeric_limits<double>::quiet_NaN();  //!< NaN: every sample failed
  double ci_low = std::numeric_limits<double>::quiet_NaN();
  double ci_high = std::numeric_limits<double>::quiet_NaN();
  std::int64_t n = 0;
};

struct Verdict {
  PublishedCell cell;
  MeasuredCell measured;
  double ratio = std::numeric_limits<double>::quiet_NaN();  //!< measured / paper; NaN if undefined
  VerdictKind kind = VerdictKind::kNoData;
  std::string reason;  //!< one short sentence, never empty
};

using MeasuredLookup =
    std::function<MeasuredCell(const std::string& row, const std::string& column)>;

//! Why what a profile measures is not judged: a sentence; empty where it is.
std::string WhyNotJudged(const std::string& profile);

//! One verdict per published cell, in their order.
//! @param not_judged why what was measured is not judged (WhyNotJudged); empty: it is
std::vector<Verdict> Judge(const std::vector<PublishedCell>& cells, const MeasuredLookup& lookup,
                           const std::string& not_judged = "");

}  // namespace retable::harness
