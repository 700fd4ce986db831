#include "harness/run/correctness_gate.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retable::harness {

Outcome Gate(Outcome outcome) {
  Verification& check = outcome.verification;
  if (outcome.status == "ok" && check.done && (!check.ok || std::isnan(check.value))) {
    check.ok = false;
    outcome.status = "wrong_result";
    outcome.reason = fmt::format("{} = {} against {} (threshold {}){}", check.metric, check.value,
                                 check.reference, check.threshold,
                                 outcome.reason.empty() ? "" : "; " + outcome.reason);
  }
  bool any = false;
  std::string why;
  for (const Metric& metric : outcome.metrics) {
    for (const double x : metric.samples) {
      any = true;
      if (metric.unit != "s" || (!(x < 0) && !std::isinf(x))) continue;
      why = fmt::format("the protocol reported a {} of {} s", metric.name, x);
    }
  }
  if (!any) why = "the protocol reported no sample";
  if (outcome.status == "ok" && !why.empty()) {
    outcome.status = "failed";
    outcome.reason = why;
  }
  return outcome;
}

}  // namespace retable::harness
