#include "harness/report/artifact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/plan/cell_json.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;
// Keys in the order they are written: a person reads these files.
using nlohmann::ordered_json;

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ordered_json ColumnsJson(const TableSpec& table) {
  ordered_json columns = ordered_json::array();
  for (const ColumnSpec& c : table.columns) {
    columns.push_back({{"name", c.name},
                       {"metric", c.metric},
                       {"statistic", c.statistic},
                       {"fact", c.fact},
                       {"group", c.group},
                       {"where", c.where},
                       {"ratio_of", c.ratio_of},
                       {"ratio_over", c.ratio_over}});
  }
  return columns;
}

ordered_json FigureJson(const Experiment& experiment) {
  if (experiment.figure.empty()) return nullptr;
  ordered_json figure;
  for (const auto& [key, value] : experiment.figure) figure[key] = ToJson(value);
  for (const std::string axis : {"xlim", "ylim"}) {
    if (figure.contains(axis + "_low") && figure.contains(axis + "_high")) {
      figure[axis] = {figure[axis + "_low"], figure[axis + "_high"]};
    }
  }
  return figure;
}

TableSpec TableFromJson(const json& j) {
  TableSpec table;
  table.rows = j.at("rows").get<std::string>();
  table.row_header = j.at("row_header").get<std::string>();
  table.pivot = j.at("pivot").get<std::string>();
  for (const json& item : j.at("columns")) {
    ColumnSpec c;
    c.name = item.at("name").get<std::string>();
    c.metric = item.at("metric").get<std::string>();
    c.statistic = item.at("statistic").get<std::string>();
    c.fact = item.at("fact").get<std::string>();
    c.group = item.at("group").get<std::string>();
    c.where = item.at("where").get<std::map<std::string, std::string>>();
    c.ratio_of = item.at("ratio_of").get<std::string>();
    c.ratio_over = item.at("ratio_over").get<std::string>();
    table.columns.push_back(std::move(c));
  }
  return table;
}

ordered_json ProfilesJson(const std::vector<ProfileNames>& profiles) {
  ordered_json all = ordered_json::array();
  for (const ProfileNames& p : profiles) {
    ordered_json rows = ordered_json::array();
    for (const ProfileRow& r : p.rows) {
      rows.push_back({{"name", r.name}, {"dataset", r.dataset}, {"cuda", r.cuda}});
    }
    all.push_back({{"profile", p.profile}, {"columns", p.columns}, {"rows", rows}});
  }
  return all;
}

std::vector<ProfileNames> ProfilesFromJson(const json& all) {
  std::vector<ProfileNames> profiles;
  for (const json& item : all) {
    ProfileNames& p = profiles.emplace_back();
    p.profile = item.at("profile").get<std::string>();
    p.columns = item.at("columns").get<std::vector<std::string>>();
    for (const json& r : item.at("rows")) {
      p.rows.push_back({r.at("name").get<std::string>(), r.at("dataset").get<std::string>(),
                        r.at("cuda").get<bool>()});
    }
  }
  return profiles;
}

std::vector<std::string> DistinctLabels(const Plan& plan) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const PlannedCell& cell : plan.cells) {
    if (seen.insert(cell.config.label).second) labels.push_back(cell.config.label);
  }
  return labels;
}

Artifact ArtifactFromMeta(const std::string& folder, const json& j) {
  Artifact a;
  a.folder = folder;
  a.id = j.at("id").get<std::string>();
  a.family = j.at("family").get<std::string>();
  a.artifact = j.at("artifact").get<std::string>();
  a.title = j.at("title").get<std::string>();
  a.question = j.at("question").get<std::string>();
  a.citation = j.at("citation").get<std::string>();
  a.where = j.at("source").at("where").get<std::string>();
  a.profile = j.at("profile").get<std::string>();
  a.table = TableFromJson(j.at("table"));
  for (const json& item : j.at("claims")) {
    a.claims.push_back({item.at("id").get<std::string>(), item.at("text").get<std::string>(),
                        item.at("where").get<std::string>(), item.at("check").get<std::string>(),
                        item.value("note", "")});
  }
  a.labels = j.at("labels").get<std::vector<std::string>>();
  a.axes = j.at("axes").get<std::vector<std::string>>();
  a.coverage_total = j.at("coverage").at("total").get<std::int64_t>();
  a.coverage_unit = j.at("coverage").at("unit").get<std::string>();
  for (const json& item : j.at("cells")) {
    ArtifactCell cell;
    cell.key = item.at("key").get<std::string>();
    cell.not_run = item.at("not_run").get<std::string>();
    cell.config = CellFromJson(item.at("cell"));
    if (cell.not_run.empty()) cell.record = LoadRecord(folder, cell.key);
    a.cells.push_back(std::move(cell));
  }
  for (const json& item : j.value("datasets", json::array())) {
    a.dataset_notes[item.at("name").get<std::string>()] = item.at("reason").get<std::string>();
  }
  a.profiles = ProfilesFromJson(j.value("profiles", json::array()));
  return a;
}

}  // namespace

std::string ArtifactCell::status() const {
  if (!not_run.empty()) return "not_run";
  return record ? record->outcome.status : "missing";
}

std::string ArtifactCell::reason() const {
  if (!not_run.empty()) return not_run;
  return record ? record->outcome.reason : "not measured yet";
}

std::string Artifact::Path(const std::string& suffix) const {
  return folder + "/" + family + "/" + artifact + "." + suffix;
}

void WriteMeta(const Plan& plan, const std::string& profile, const std::string& folder) {
  const Experiment& e = plan.experiment;
  ordered_json claims = ordered_json::array();
  for (const ClaimSpec& claim : e.claims) {
    claims.push_back({{"id", claim.id},
                      {"text", claim.text},
                      {"where", claim.where},
                      {"check", claim.check},
                      {"note", claim.note}});
  }
  ordered_json datasets = ordered_json::array();
  for (const DatasetInfo& d : plan.datasets) {
    datasets.push_back({{"name", d.name},
                        {"sha256", d.sha256},
                        {"present", d.present},
                        {"rows", d.rows},
                        {"columns", d.columns},
                        {"complete", d.complete},
                        {"reason", d.reason},
                        {"origin", d.origin}});
  }
  ordered_json axes = ordered_json::array();
  for (const auto& [name, values] : e.axes) axes.push_back(name);
  ordered_json cells = ordered_json::array();
  for (const PlannedCell& cell : plan.cells) {
    cells.push_back(
        {{"key", cell.key}, {"not_run", cell.not_run.value_or("")}, {"cell", ToJson(cell.config)}});
  }
  const ordered_json meta = {
      {"id", e.id},
      {"family", e.family},
      {"artifact", e.artifact},
      {"title", e.title},
      {"question", e.question},
      {"citation", e.citation},
      {"source", {{"where", e.where}}},
      {"profile", profile},
      {"labels", DistinctLabels(plan)},
      {"axes", axes},
      {"table",
       {{"rows", e.table.rows},
        {"row_header", e.table.row_header},
        {"pivot", e.table.pivot},
        {"columns", ColumnsJson(e.table)}}},
      {"figure", FigureJson(e)},
      {"claims", claims},
      {"datasets", datasets},
      {"coverage", {{"total", e.coverage_total}, {"unit", e.coverage_unit}, {"text", ""}}},
      {"metrics", ordered_json::array()},
      {"statuses", ordered_json::object()},
      {"repeat", fmt::format("build/retable run {} --profile {}", e.id, profile)},
      {"notes", e.notes},
      {"profiles", ProfilesJson(plan.profiles)},
      {"cells", cells}};
  const std::string base = folder + "/" + e.family + "/" + e.artifact;
  WriteFileAtomically(base + ".meta.json", meta.dump(1) + "\n");
  if (!e.paper_file.empty()) WriteFileAtomically(base + ".paper.csv", Slurp(e.paper_file));
}

void UpdateMeta(const Artifact& artifact, const std::string& coverage) {
  ordered_json meta = ordered_json::parse(Slurp(artifact.Path("meta.json")));
  std::map<std::string, int> statuses;
  std::vector<std::pair<std::string, std::string>> metrics;
  for (const ArtifactCell& cell : artifact.cells) {
    ++statuses[cell.status()];
    if (!cell.record) continue;
    for (const Metric& m : cell.record->outcome.metrics) {
      const std::pair<std::string, std::string> entry{m.name, m.unit};
      if (std::find(metrics.begin(), metrics.end(), entry) == metrics.end()) {
        metrics.push_back(entry);
      }
    }
  }
  meta["statuses"] = statuses;
  meta["metrics"] = ordered_json::array();
  for (const auto& [name, unit] : metrics) {
    meta["metrics"].push_back({{"name", name}, {"unit", unit}});
  }
  meta["coverage"]["text"] = coverage;
  WriteFileAtomically(artifact.Path("meta.json"), meta.dump(1) + "\n");
}

std::vector<Artifact> LoadArtifacts(const std::string& folder) {
  std::vector<Artifact> artifacts;
  std::error_code error;
  const std::vector<Ceiling> ceilings = CeilingsFromJson(Slurp(folder + "/ceilings.json"));
  const std::string suffix = ".meta.json";
  for (const auto& family : fs::directory_iterator(folder, error)) {
    if (!family.is_directory() || family.path().filename() == "cells") continue;
    for (const auto& file : fs::directory_iterator(family.path())) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with(suffix) || name.starts_with(".")) continue;
      try {
        artifacts.push_back(ArtifactFromMeta(folder, json::parse(Slurp(file.path().string()))));
        artifacts.back().ceilings = ceilings;
      } catch (const json::exception& problem) {
        throw StoreError(fmt::format("{}: {}; run the experiment again to rewrite it",
                                     file.path().string(), problem.what()));
      }
    }
  }
  if (artifacts.empty()) {
    throw StoreError(folder + ": no results here; run `build/retable run '*' --out " + folder +
                     "` first");
  }
  std::sort(artifacts.begin(), artifacts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.family, a.artifact.size(), a.artifact) <
           std::tuple(b.family, b.artifact.size(), b.artifact);
  });
  return artifacts;
}

}  // namespace retable::harness
