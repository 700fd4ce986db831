#include "harness/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

constexpr double kOrderShare = 0.8;
constexpr double kTrendFactor = 3;

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
  return v.cell.value && v.measured.run && v.measured.partial.empty() &&
         !std::isnan(v.measured.value);
}

// Where the order of a verdict's kind means something: counts and times of another model or data
// set say nothing about this one's.
std::string_view GroupOf(const Verdict& v) {
  if (v.cell.kind != CellKind::kCount && v.cell.kind != CellKind::kTime) return "";
  return v.cell.group.empty() ? v.measured.group : v.cell.group;
}

Order OrderInColumn(const std::vector<Verdict>& all, const Verdict& mine) {
  Order order;
  for (const Verdict& other : all) {
    if (&other == &mine || other.cell.column != mine.cell.column ||
        other.cell.kind != mine.cell.kind || GroupOf(other) != GroupOf(mine) ||
        !Comparable(other)) {
      continue;
    }
    if (mine.cell.Agrees().Holds(*other.cell.value) ||
        other.cell.Agrees().Holds(*mine.cell.value)) {
      continue;
    }
    ++order.pairs;
    const double paper = *mine.cell.value - *other.cell.value;
    const double measured = mine.measured.value - other.measured.value;
    order.kept += (paper > 0 && measured > 0) || (paper < 0 && measured < 0);
  }
  return order;
}

bool LiesInBand(const Verdict& v) {
  const Band band = v.cell.Agrees();
  // Without an interval the value stands for itself.
  const double low = std::isnan(v.measured.ci_low) ? v.measured.value : v.measured.ci_low;
  const double high = std::isnan(v.measured.ci_high) ? v.measured.value : v.measured.ci_high;
  return band.Holds(low) && band.Holds(high) && band.Holds(v.measured.value);
}

std::string ToleranceText(const PublishedCell& cell) {
  if (cell.trials > 0) return "the sampling error of " + std::to_string(cell.trials) + " trials";
  if (cell.absolute)
    return FormatNumber(cell.tolerance) + (cell.unit.empty()  ? ""
                                           : cell.unit == "%" ? " percentage points"
                                                              : " " + cell.unit);
  const double percent = std::round(cell.tolerance * 1e6) / 1e4;
  return FormatNumber(percent) + " %";
}

void Set(Verdict& verdict, VerdictKind kind, std::string reason) {
  verdict.kind = kind;
  verdict.reason = std::move(reason);
}

void JudgeBound(Verdict& verdict) {
  const bool kept = verdict.cell.Agrees().Holds(verdict.measured.value);
  const std::string which = verdict.cell.at_most ? "at most " : "at least ";
  Set(verdict, kept ? VerdictKind::kMatch : VerdictKind::kMismatch,
      which + FormatNumber(*verdict.cell.value) + (kept ? ", as published" : " was published"));
}

// Beyond the tolerance: what of the size and of what the number says still holds.
void JudgeBeyond(Verdict& verdict, bool holds, const std::string& what) {
  const bool size = verdict.ratio >= 1 / kTrendFactor && verdict.ratio <= kTrendFactor;
  std::string reason =
      verdict.cell.Agrees().Holds(verdict.measured.value)
          ? "not all of the interval is within " + ToleranceText(verdict.cell) + " of the paper; "
          : "further than " + ToleranceText(verdict.cell) + " from the paper; ";
  if (holds && !size) reason += "more than 3 times off; ";
  Set(verdict,
      !holds ? VerdictKind::kMismatch
      : size ? VerdictKind::kTrend
             : VerdictKind::kOrderOnly,
      reason + what);
}

void JudgeValue(const std::vector<Verdict>& all, Verdict& verdict) {
  const PublishedCell& cell = verdict.cell;
  if (cell.kind == CellKind::kBound) return JudgeBound(verdict);
  if (LiesInBand(verdict)) {
    return Set(verdict, VerdictKind::kMatch, "within " + ToleranceText(cell) + " of the paper");
  }
  if (cell.kind == CellKind::kRatio) {
    const double paper = *cell.value - 1, measured = verdict.measured.value - 1;
    const bool same = (paper > 0 && measured > 0) || (paper < 0 && measured < 0);
    return JudgeBeyond(verdict, same, same ? "the same side of 1" : "not on the paper's side of 1");
  }
  const Order order = OrderInColumn(all, verdict);
  JudgeBeyond(verdict, order.Holds(), order.Text());
}

// The number before a unit: 900 of " GB/s" in "Tesla V100, 900 GB/s"; 0 where there is none.
double AmountOf(std::string_view machine, std::string_view unit) {
  const std::size_t end = machine.find(unit);
  if (end == std::string_view::npos) return 0;
  const std::string_view before = machine.substr(0, end);
  return ParseNumber(before.substr(before.find_last_of(' ') + 1)).value_or(0);
}

std::string ShortNumber(double x) {
  return x < 100 ? fmt::format("{:.2g}", x) : fmt::format("{:.0f}", x);
}

// The speed here beside that of the paper's machine, and what the machines differ by.
std::string BesideMachine(const Verdict& v) {
  std::string text = "an absolute time of another machine";
  if (v.cell.machine.empty()) return text;
  text += " (" + v.cell.machine + ")";
  if (!(v.ratio > 0)) return text;
  const double speed = v.cell.unit.ends_with("/s") ? v.ratio : 1 / v.ratio;
  text += ": " + ShortNumber(speed) + " times its speed here";
  const double bandwidth = AmountOf(v.cell.machine, " GB/s"),
               cores = AmountOf(v.cell.machine, " cores");
  const double here = AmountOf(v.measured.machine, bandwidth > 0 ? " GB/s" : " thread");
  if (here > 0 && bandwidth > 0) {
    text += ", with " + ShortNumber(here / bandwidth) + " times its memory bandwidth";
  } else if (here > 0 && cores > 0) {
    text += ", with " + ShortNumber(here) + " threads beside " + ShortNumber(cores) + " cores";
  }
  return text;
}

void JudgeOne(const std::vector<Verdict>& all, const std::string& not_judged, Verdict& verdict) {
  const PublishedCell& cell = verdict.cell;
  const MeasuredCell& measured = verdict.measured;
  if (!cell.value) {
    return Set(verdict, VerdictKind::kNoData,
               cell.note.empty() ? "the paper gives no value here" : cell.note);
  }
  if (measured.failed) {
    return Set(verdict, VerdictKind::kFailed,
               measured.reason.empty() ? "the method failed" : measured.reason);
  }
  if (!measured.run) {
    return Set(verdict, VerdictKind::kNotRun,
               measured.reason.empty() ? "not measured" : measured.reason);
  }
  if (!not_judged.empty()) return Set(verdict, VerdictKind::kNotJudged, not_judged);
  if (!measured.partial.empty()) {
    return Set(verdict, VerdictKind::kNotJudged, measured.partial);
  }
  if (std::isnan(measured.value)) {
    if (cell.note == "failed") {
      return Set(verdict, VerdictKind::kMatch, "every sample failed, as in the work");
    }
    return Set(verdict, VerdictKind::kFailed, "every sample failed");
  }
  if (cell.kind == CellKind::kTime) {
    return Set(verdict, VerdictKind::kDifferentHardware,
               BesideMachine(verdict) + "; " + OrderInColumn(all, verdict).Text());
  }
  JudgeValue(all, verdict);
}

}  // namespace

std::string_view Name(VerdictKind kind) {
  constexpr std::string_view kNames[] = {"MATCH",    "TREND",      "ORDER-ONLY",
                                         "MISMATCH", "FAILED",     "DIFFERENT-HW",
                                         "NOT-RUN",  "NOT-JUDGED", "NO-DATA"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string WhyNotJudged(const std::string& profile) {
  return profile == "smoke" ? "the sizes of the smoke profile are too small to judge" : "";
}

std::vector<Verdict> Judge(const std::vector<PublishedCell>& cells, const MeasuredLookup& lookup,
                           const std::string& not_judged) {
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
  for (Verdict& verdict : verdicts) {
    JudgeOne(verdicts, not_judged, verdict);
    if (!verdict.measured.unsteady.empty()) {
      verdict.reason += "; not steady: " + verdict.measured.unsteady;
    }
  }
  return verdicts;
}

}  // namespace retable::harness
