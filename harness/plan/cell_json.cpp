#include "harness/plan/cell_json.hpp"

#include <nlohmann/json.hpp>

#include "harness/plan/json_fields.hpp"

namespace retable::harness {

using nlohmann::json;

template <class Io>
void Fields(Io& io, CellConfig& c) {
  io("experiment", c.experiment, "family", c.family, "protocol", c.protocol, "algorithm",
     c.algorithm, "label", c.label, "device", c.device, "dataset", c.dataset, "dataset_sha256",
     c.dataset_sha256, "parameters", c.parameters, "axes", c.axes, "settings", c.settings, "seed",
     c.seed, "repeats", c.repeats);
}

template <class Io>
void Fields(Io& io, Metric& m) {
  io("name", m.name, "unit", m.unit, "samples", m.samples, "groups", m.groups, "items", m.items);
  if (io.Has("sm_mhz", !m.sm_mhz.empty())) io("sm_mhz", m.sm_mhz);
}

template <class Io>
void Fields(Io& io, Cost& c) {
  io("ceiling", c.ceiling, "amount", c.amount, "parallel", c.parallel);
}

template <class Io>
void Fields(Io& io, Curve& c) {
  io("name", c.name, "x", c.x, "y", c.y);
}

template <class Io>
void Fields(Io& io, Verification& v) {
  io("done", v.done, "ok", v.ok, "metric", v.metric, "value", v.value, "threshold", v.threshold,
     "reference", v.reference);
}

template <class Io>
void Fields(Io& io, Outcome& o) {
  io("status", o.status, "reason", o.reason, "metrics", o.metrics, "curves", o.curves,
     "verification", o.verification, "facts", o.facts);
  if (io.Has("costs", true)) io("costs", o.costs);  // older files have none
  io("attachments", o.attachments);
}

json ToJson(const CellConfig& cell) {
  return cell;
}

json ToJson(const Outcome& outcome) {
  return outcome;
}

CellConfig CellFromJson(const json& cell) {
  return cell.get<CellConfig>();
}

Outcome OutcomeFromJson(const json& outcome) {
  return outcome.get<Outcome>();
}

}  // namespace retable::harness
