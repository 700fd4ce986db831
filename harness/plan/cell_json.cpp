#include "harness/plan/cell_json.hpp"

#include <nlohmann/json.hpp>

#include "harness/plan/json_fields.hpp"

namespace retable::harness {

using nlohmann::json;

template <class Io>
void Fields(Io& io, CellConfig& c) {
  io("experiment", c.experiment);
  io("family", c.family);
  io("protocol", c.protocol);
  io("algorithm", c.algorithm);
  io("label", c.label);
  io("device", c.device);
  io("dataset", c.dataset);
  io("dataset_sha256", c.dataset_sha256);
  io("parameters", c.parameters);
  io("axes", c.axes);
  io("settings", c.settings);
  io("seed", c.seed);
  io("repeats", c.repeats);
}

template <class Io>
void Fields(Io& io, Metric& m) {
  io("name", m.name);
  io("unit", m.unit);
  io("samples", m.samples);
  io("groups", m.groups);
  io("items", m.items);
  if (io.Has("sm_mhz", !m.sm_mhz.empty())) io("sm_mhz", m.sm_mhz);
}

template <class Io>
void Fields(Io& io, Cost& c) {
  io("ceiling", c.ceiling);
  io("amount", c.amount);
  io("parallel", c.parallel);
}

template <class Io>
void Fields(Io& io, Curve& c) {
  io("name", c.name);
  io("x", c.x);
  io("y", c.y);
}

template <class Io>
void Fields(Io& io, Verification& v) {
  io("done", v.done);
  io("ok", v.ok);
  io("metric", v.metric);
  io("value", v.value);
  io("threshold", v.threshold);
  io("reference", v.reference);
}

template <class Io>
void Fields(Io& io, Outcome& o) {
  io("status", o.status);
  io("reason", o.reason);
  io("metrics", o.metrics);
  io("curves", o.curves);
  io("verification", o.verification);
  io("facts", o.facts);
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
