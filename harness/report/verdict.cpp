#include "harness/report/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

constexpr double kOrderShare = 0.8;

// How many of the pairs that the paper tells apart stand in the same order here.
struct Order {
  int kept = 0;
  int pairs = 0;
  bool Holds() const { return pairs > 0 && kept >= kOrderShare * pairs; }
  std::string Text() const {
    if (pairs == 0) return "no other row to set it in order with";
    return "order kept in " + std::to_string(kept) + " of " + std::to_string(pairs) +
           (pairs == 1 ? " pair" : " pairs");
  }
};

bool Comparable(const Verdict& v) {
  return v.cell.value && v.measured.run && !std::isnan(v.measured.value);
}

Order OrderInColumn(const std::vector<Verdict>& all, const Verdict& mine) {
  Order order;
  for (const Verdict& other : all) {
    if (&other == &mine || other.cell.column != mine.cell.column ||
        other.cell.kind != mine.cell.kind || !Comparable(other)) {
      continue;
    }
    const double paper = *mine.cell.value - *other.cell.value;
    if (!(std::abs(paper) > std::max(mine.cell.Margin(), other.cell.Margin()))) continue;
    ++order.pairs;
    const double measured = mine.measured.value - other.measured.value;
    order.kept += (paper > 0 && measured > 0) || (paper < 0 && measured < 0);
  }
  return order;
}

bool MeetsPaper(const Verdict& v) {
  const double paper = *v.cell.value;
  if (std::isinf(paper)) return v.measured.value == paper;
  // Without an interval the value stands for itself.
  const double low = std::isnan(v.measured.ci_low) ? v.measured.value : v.measured.ci_low;
  const double high = std::isnan(v.measured.ci_high) ? v.measured.value : v.measured.ci_high;
  const double margin = v.cell.Margin();
  // A tolerance that ends on the value must not fail by its last bit.
  const double slack = 1e-12 * std::abs(paper);
  return low <= paper + margin + slack && high >= paper - margin - slack;
}

std::string ToleranceText(const PublishedCell& cell) {
  if (cell.absolute)
    return FormatNumber(cell.tolerance) + (cell.unit.empty() ? "" : " " + cell.unit);
  const double percent = std::round(cell.tolerance * 1e6) / 1e4;
  return FormatNumber(percent) + " %";
}

void Set(Verdict& verdict, VerdictKind kind, std::string reason) {
  verdict.kind = kind;
  verdict.reason = std::move(reason);
}

void JudgeRatio(Verdict& verdict) {
  const double paper = *verdict.cell.value - 1, measured = verdict.measured.value - 1;
  const bool same_side = (paper > 0 && measured > 0) || (paper < 0 && measured < 0);
  const std::string beyond = "further than " + ToleranceText(verdict.cell) + " from the paper; ";
  if (same_side) {
    Set(verdict, VerdictKind::kTrend, beyond + "the same side of 1");
  } else {
    Set(verdict, VerdictKind::kMismatch, beyond + "not on the paper's side of 1");
  }
}

void JudgeOne(const std::vector<Verdict>& all, Verdict& verdict) {
  const PublishedCell& cell = verdict.cell;
  if (!cell.value) {
    return Set(verdict, VerdictKind::kNoData,
               cell.note.empty() ? "the paper gives no value here" : cell.note);
  }
  if (!verdict.measured.run) {
    return Set(verdict, VerdictKind::kNotRun,
               verdict.measured.reason.empty() ? "not measured" : verdict.measured.reason);
  }
  if (cell.kind == CellKind::kTime) {
    const bool failed = std::isnan(verdict.measured.value);
    return Set(verdict, VerdictKind::kDifferentHardware,
               failed
                   ? "every sample failed"
                   : "an absolute time of another machine; " + OrderInColumn(all, verdict).Text());
  }
  if (std::isnan(verdict.measured.value)) {
    if (cell.note == "failed") {
      return Set(verdict, VerdictKind::kMatch, "every sample failed, as in the work");
    }
    return Set(verdict, VerdictKind::kMismatch, "every sample failed");
  }
  if (MeetsPaper(verdict)) {
    return Set(verdict, VerdictKind::kMatch, "within " + ToleranceText(cell) + " of the paper");
  }
  if (cell.kind == CellKind::kRatio) return JudgeRatio(verdict);
  const Order order = OrderInColumn(all, verdict);
  Set(verdict, order.Holds() ? VerdictKind::kTrend : VerdictKind::kMismatch,
      "further than " + ToleranceText(cell) + " from the paper; " + order.Text());
}

}  // namespace

std::string_view Name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kMatch:
      return "MATCH";
    case VerdictKind::kTrend:
      return "TREND";
    case VerdictKind::kMismatch:
      return "MISMATCH";
    case VerdictKind::kDifferentHardware:
      return "DIFFERENT-HW";
    case VerdictKind::kNotRun:
      return "NOT-RUN";
    case VerdictKind::kNoData:
      break;
  }
  return "NO-DATA";
}

std::vector<Verdict> Judge(const std::vector<PublishedCell>& cells, const MeasuredLookup& lookup) {
  std::vector<Verdict> verdicts;
  for (const PublishedCell& cell : cells) {
    Verdict verdict;
    verdict.cell = cell;
    verdict.measured = lookup(cell.row, cell.column);
    if (cell.value && *cell.value != 0 && verdict.measured.run) {
      verdict.ratio = verdict.measured.value / *cell.value;
    }
    verdicts.push_back(std::move(verdict));
  }
  for (Verdict& verdict : verdicts) JudgeOne(verdicts, verdict);
  return verdicts;
}

}  // namespace retable::harness
