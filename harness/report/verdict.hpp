#pragma once
//! @file
//! The verdict on one published cell, given what was measured here.
//!
//! The rule, in this order:
//!
//!   NO-DATA       the paper's value is not known.
//!   NOT-RUN       nothing was measured; the reason says why.
//!   DIFFERENT-HW  kind time: an absolute time belongs to its machine and is never judged. The
//!                 reason still says whether its order among the rows holds here.
//!   MATCH         the measured 95 % interval meets [paper - tolerance, paper + tolerance]; or
//!   every
//!                 sample failed, and the paper's cell is noted as "failed" too.
//!   TREND         the size differs, what it says does not:
//!                   ratio            measured and paper lie on the same side of 1;
//!                   accuracy, count  against the other measured rows of the same column, at least
//!                                    80 % of the pairs that the paper tells apart stand in the
//!                                    paper's order. Told apart: they differ by more than either
//!                                    cell's tolerance. Equal measured values keep no order.
//!   MISMATCH      none of these; also when every sample failed.
//!
//! Only cells of one kind are set in order, so a column may mix kinds. O(cells^2) within a column.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/paper_cells.hpp"

namespace retable::harness {

enum class VerdictKind { kMatch, kTrend, kMismatch, kDifferentHardware, kNotRun, kNoData };
//! "MATCH", "TREND", "MISMATCH", "DIFFERENT-HW", "NOT-RUN", "NO-DATA".
std::string_view Name(VerdictKind kind);

//! What was measured for a published cell.
struct MeasuredCell {
  bool run = false;
  std::string reason;                                       //!< why not, when it was not run
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

//! One verdict per published cell, in their order.
std::vector<Verdict> Judge(const std::vector<PublishedCell>& cells, const MeasuredLookup& lookup);

}  // namespace retable::harness
