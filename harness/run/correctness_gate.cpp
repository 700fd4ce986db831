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
  if (outcome.status == "ok" && !outcome.metrics.empty()) {
    bool any = false;
    for (const Metric& metric : outcome.metrics) any = any || !metric.samples.empty();
    if (!any) {
      outcome.status = "failed";
      outcome.reason = "the protocol reported no sample";
    }
  }
  return outcome;
}

}  // namespace retable::harness
