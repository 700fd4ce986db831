#include "harness/report/artifact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/atomic_file.hpp"
#include "harness/cli/shell.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/plan/json_fields.hpp"
#include "harness/report/verdict.hpp"

namespace retable::harness {
namespace fs = std::filesystem;

template <class Io>
void Fields(Io& io, ColumnSpec& c) {
  io("name", c.name);
  io("metric", c.metric);
  io("statistic", c.statistic);
  io("fact", c.fact);
  io("group", c.group);
  io("where", c.where);
  io("ratio_of", c.ratio_of);
  io("ratio_over", c.ratio_over);
  // Older files have none of these.
  if (io.Has("ratio_row", !c.ratio_row.empty())) io("ratio_row", c.ratio_row);
  if (io.Has("least_of", !c.least_of.empty())) io("least_of", c.least_of);
  if (io.Has("called", !c.called.empty())) io("called", c.called);
  if (io.Has("interval_of", !c.interval_of.empty())) io("interval_of", c.interval_of);
}

template <class Io>
void Fields(Io& io, TableSpec& t) {
  io("rows", t.rows);
  io("row_header", t.row_header);
  io("pivot", t.pivot);
  io("columns", t.columns);
}

template <class Io>
void Fields(Io& io, ClaimSpec& c) {
  io("id", c.id);
  io("text", c.text);
  io("where", c.where);
  io("check", c.check);
  if (io.Has("note", true)) io("note", c.note);  // older files have none
}

template <class Io>
void Fields(Io& io, ProfileRow& r) {
  io("name", r.name);
  io("dataset", r.dataset);
  io("cuda", r.cuda);
}

template <class Io>
void Fields(Io& io, Origin& o) {
  io("profile", o.profile);
  io("started", o.started);
  io("finished", o.finished);
  io("commit", o.commit);
  io("machine", o.machine);
  io("cells", o.cells);
}

template <class Io>
void Fields(Io& io, ProfileNames& p) {
  io("profile", p.profile);
  io("columns", p.columns);
  io("rows", p.rows);
}

namespace {

using nlohmann::json;
// Keys in the order they are written: a person reads these files.
using nlohmann::ordered_json;

ordered_json FigureJson(const Experiment& experiment) {
  if (experiment.figure.empty()) return nullptr;
  ordered_json figure;
  for (const auto& [key, value] : experiment.figure) figure[key] = ToJson(value);
  return figure;
}

std::vector<std::string> DistinctLabels(const Plan& plan) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const PlannedCell& cell : plan.cells) {
    if (seen.insert(cell.config.label).second) labels.push_back(cell.config.label);
  }
  return labels;
}

// SHA-256 of the artifact's data sets by name.
template <class Json>
std::map<std::string, std::string> DatasetHashes(const Json& meta) {
  std::map<std::string, std::string> hashes;
  for (const Json& item : meta.value("datasets", Json::array())) {
    hashes[item.at("name")] = item.at("sha256");
  }
  return hashes;
}

Artifact ArtifactFromMeta(const std::string& folder, const json& j) {
  Artifact a;
  a.folder = folder;
  JsonReader io(j);
  io("id", a.id);
  io("family", a.family);
  io("artifact", a.artifact);
  io("title", a.title);
  io("question", a.question);
  io("citation", a.citation);
  a.where = j.at("source").at("where").get<std::string>();
  io("profile", a.profile);
  a.repeat = j.value("repeat", "");
  io("table", a.table);
  io("claims", a.claims);
  io("labels", a.labels);
  io("axes", a.axes);
  a.coverage_total = j.at("coverage").at("total").get<std::int64_t>();
  a.coverage_unit = j.at("coverage").at("unit").get<std::string>();
  const auto hashes = DatasetHashes(j);
  for (const json& item : j.value("cells", json::array())) {  // a recording has them in its archive
    ArtifactCell cell;
    cell.key = item.at("key").get<std::string>();
    cell.not_run = item.value("not_run", "");
    cell.group = item.value("group", "");
    json config = item.at("cell");
    const auto hash = hashes.find(config.at("dataset"));
    for (const auto& [name, of_all] :
         {std::pair<const char*, json>{"experiment", a.id},
          {"family", a.family},
          {"dataset_sha256", hash == hashes.end() ? "" : hash->second}}) {
      if (!config.contains(name)) config[name] = of_all;
    }
    cell.config = CellFromJson(config);
    if (cell.not_run.empty()) cell.record = LoadRecord(folder, cell.key, &cell.problem);
    a.cells.push_back(std::move(cell));
  }
  for (const json& item : j.value("datasets", json::array())) {
    a.dataset_notes[item.at("name").get<std::string>()] = item.at("reason").get<std::string>();
  }
  if (j.contains("figure") && j["figure"].is_object()) {
    a.figure_metric = j["figure"].value("metric", "");
  }
  if (io.Has("profiles", true)) io("profiles", a.profiles);
  if (io.Has("provenance", true)) io("provenance", a.provenance);
  if (fs::exists(a.Path("paper.csv"))) a.paper_file = a.Path("paper.csv");
  return a;
}

// One line for each kind of cell file that is not what this program writes, on standard error.
void SayWhatIsWrong(const std::vector<Artifact>& artifacts, const std::string& folder) {
  // By key, since an artifact may show cells of another.
  std::map<std::string, std::string> damaged;
  std::set<std::string> unchecked;
  for (const Artifact& artifact : artifacts) {
    for (const ArtifactCell& cell : artifact.cells) {
      if (!cell.problem.empty()) {
        std::string what = cell.problem;
        if (!artifact.repeat.empty()) {
          what += fmt::format("; measure again: {} --out {}", artifact.repeat, ShellWord(folder));
        }
        damaged.emplace(cell.key, what);
      }
      if (cell.record && !cell.record->checked) unchecked.insert(cell.key);
    }
  }
  if (!damaged.empty()) {
    std::cerr << fmt::format("note: {} damaged in {}/cells count as not measured; the first: {}\n",
                             damaged.size(), folder, damaged.begin()->second);
  }
  if (!unchecked.empty()) {
    std::cerr << fmt::format(
        "note: {} in {}/cells are of an earlier version, without a checksum; the next run measures "
        "them again\n",
        unchecked.size(), folder);
  }
}

// Card, machine and time of each group of timed cells, a line for each stretch.
ordered_json GroupsJson(const Artifact& artifact) {
  struct Stretch {
    std::string card, machine, started, finished;
    int cells = 0;
  };
  std::map<std::string, json> environments;
  std::map<std::pair<std::string, std::string>, Stretch> stretches;
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.record || cell.group.empty()) continue;
    const auto [known, fresh] = environments.try_emplace(cell.record->environment);
    if (fresh) known->second = EnvironmentOfRun(artifact.folder, cell.record->environment);
    const json& environment = known->second;
    if (!environment.is_object()) continue;
    Stretch& here = stretches[{cell.group, StretchOf(environment, cell.config.device)}];
    const std::string& started = cell.record->started;
    if (here.cells++ == 0 || started < here.started) here.started = started;
    here.finished = std::max(here.finished, started);
    here.machine = MachineText(environment);
    if (cell.config.device == "cuda") here.card = CardText(environment);
  }
  ordered_json groups = ordered_json::array();
  for (const auto& [name, stretch] : stretches) {
    groups.push_back({{"group", name.first},
                      {"card", stretch.card},
                      {"machine", stretch.machine},
                      {"started", stretch.started},
                      {"finished", stretch.finished},
                      {"cells", stretch.cells}});
  }
  return groups;
}

// What the command line and the machine added to an experiment, to be typed again.
std::string OptionsOf(const Overrides& given) {
  std::string options;
  if (!given.machine_file.empty()) options += " --machine " + ShellWord(given.machine_file);
  if (given.repeats > 0) options += fmt::format(" --repeats {}", given.repeats);
  for (const std::string& one : given.assignments) options += " --set " + ShellWord(one);
  return options;
}

//! On one line, and cells without what the artifact says of all of them: a recording has thousands.
void WriteMetaFile(const std::string& path, ordered_json meta) {
  const auto hashes = DatasetHashes(meta);
  ordered_json none;  // a recording has its cells in its archive
  for (ordered_json& item : meta.contains("cells") ? meta["cells"] : none) {
    for (const char* name : {"not_run", "group"}) {
      if (item.value(name, "").empty()) item.erase(name);
    }
    ordered_json& cell = item["cell"];
    const auto hash = hashes.find(cell.value("dataset", ""));
    if (cell.value("experiment", "") == meta.value("id", "")) cell.erase("experiment");
    if (cell.value("family", "") == meta.value("family", "")) cell.erase("family");
    if (hash != hashes.end() && cell.value("dataset_sha256", "") == hash->second) {
      cell.erase("dataset_sha256");
    }
  }
  WriteFileAtomically(path, JsonText(meta) + "\n");
}

void CopyPublished(const std::string& paper_file, const std::string& copy) {
  if (!paper_file.empty()) {
    WriteFileAtomically(copy, ReadOrEmpty(paper_file));
  } else {
    fs::remove(copy);
  }
}

}  // namespace

std::string ArtifactCell::status() const {
  if (!not_run.empty()) return "not_run";
  return record ? record->outcome.status : "missing";
}

bool ArtifactCell::broken() const {
  const std::string is = status();
  return is != "ok" && is != "not_run" && is != "missing" && is != "skipped";
}

std::string ArtifactCell::reason() const {
  if (!not_run.empty()) return not_run;
  if (record) return record->outcome.reason;
  return problem.empty() ? "not measured yet" : problem + "; run it again";
}

std::string Artifact::Path(const std::string& suffix) const {
  return folder + "/" + family + "/" + artifact + "." + suffix;
}

bool HasNoCells(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(folder + "/cells", error)) return false;
  for (const char* name : {kArchive, "verdicts.csv"}) {
    if (fs::exists(fs::path(folder) / name, error)) return true;
  }
  for (const auto& family : fs::directory_iterator(folder, error)) {
    std::error_code closed;
    for (const auto& file : fs::directory_iterator(family.path(), closed)) {
      if (file.path().string().ends_with(".meta.json")) return true;
    }
  }
  return false;
}

void WriteMeta(const Plan& plan, const std::string& profile, const std::string& folder) {
  const Experiment& e = plan.experiment;
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
    cells.push_back({{"key", cell.key},
                     {"not_run", cell.not_run.value_or("")},
                     {"group", cell.group},
                     {"cell", ToJson(cell.config)}});
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
      {"judged", WhyNotJudged(profile).empty()},
      {"judged_why", WhyNotJudged(profile)},
      {"labels", DistinctLabels(plan)},
      {"axes", axes},
      {"table", e.table},
      {"figure", FigureJson(e)},
      {"claims", e.claims},
      {"datasets", datasets},
      {"coverage", {{"total", e.coverage_total}, {"unit", e.coverage_unit}, {"text", ""}}},
      {"metrics", ordered_json::array()},
      {"statuses", ordered_json::object()},
      {"repeat", fmt::format("{}build/retable run {} --profile {}{}", PlanVariables(), e.id,
                             profile, OptionsOf(e.given))},
      {"notes", e.notes},
      {"profiles", plan.profiles},
      {"cells", cells}};
  const std::string base = folder + "/" + e.family + "/" + e.artifact;
  WriteMetaFile(base + ".meta.json", meta);
  CopyPublished(e.paper_file, base + ".paper.csv");
}

void UpdateMeta(const Artifact& artifact, const std::string& coverage) {
  ordered_json meta = ordered_json::parse(ReadOrEmpty(artifact.Path("meta.json")));
  std::map<std::string, int> statuses;
  std::vector<std::pair<std::string, std::string>> metrics;
  for (const ArtifactCell& cell : artifact.cells) {
    ++statuses[cell.status()];
    if (!cell.record) continue;
    for (const Metric& m : cell.record->outcome.metrics) {
      const std::pair<std::string, std::string> entry{m.name, m.unit};
      if (std::ranges::count(metrics, entry) == 0) {
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
  meta["provenance"] = OriginsOf(artifact);
  meta["groups"] = GroupsJson(artifact);
  WriteMetaFile(artifact.Path("meta.json"), meta);
}

void UpdateDeclared(const Artifact& artifact, const Experiment* today) {
  ordered_json meta = ordered_json::parse(ReadOrEmpty(artifact.Path("meta.json")));
  meta["table"] = artifact.table;
  meta["claims"] = artifact.claims;
  if (today != nullptr) meta["figure"] = FigureJson(*today);
  WriteMetaFile(artifact.Path("meta.json"), meta);
  CopyPublished(artifact.paper_file, artifact.Path("paper.csv"));
}

std::vector<Origin> OriginsOf(const Artifact& artifact) {
  std::map<std::string, Origin> by_hash;
  std::map<std::tuple<std::string, std::string, std::string>, Origin> groups;
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.record) continue;
    const auto [run, fresh] = by_hash.emplace(cell.record->environment, Origin{});
    if (fresh) {
      run->second = OriginOfRun(artifact.folder, cell.record->environment);
      if (run->second.profile.empty()) run->second.profile = artifact.profile;
    }
    const Origin& known = run->second;
    Origin& group =
        groups.try_emplace({known.profile, known.commit, known.machine}, known).first->second;
    const std::string& started = cell.record->started;
    if (group.cells == 0 || started < group.started) group.started = started;
    group.finished = std::max(group.finished, started);
    ++group.cells;
  }
  std::vector<Origin> origins;
  for (auto& [key, origin] : groups) origins.push_back(std::move(origin));
  std::ranges::stable_sort(origins, {}, &Origin::started);
  return origins;
}

std::vector<Artifact> LoadArtifacts(const std::string& folder,
                                    const std::function<bool(const std::string& id)>& wanted) {
  std::vector<Artifact> artifacts;
  std::error_code error;
  const std::vector<Ceiling> ceilings = CeilingsFromJson(ReadOrEmpty(folder + "/ceilings.json"));
  const std::string suffix = ".meta.json";
  for (const auto& family : fs::directory_iterator(folder, error)) {
    if (!family.is_directory() || family.path().filename() == "cells") continue;
    for (const auto& file : fs::directory_iterator(family.path())) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with(suffix) || name.starts_with(".")) continue;
      const std::string id =
          family.path().filename().string() + "/" + name.substr(0, name.size() - suffix.size());
      if (wanted && !wanted(id)) continue;
      try {
        artifacts.push_back(
            ArtifactFromMeta(folder, json::parse(ReadOrEmpty(file.path().string()))));
        artifacts.back().ceilings = ceilings;
      } catch (const json::exception& problem) {
        throw StoreError(fmt::format("{}: {}; run the experiment again to rewrite it",
                                     file.path().string(), problem.what()));
      }
    }
  }
  if (artifacts.empty() && fs::exists(fs::path(folder) / kArchive)) {
    throw StoreError(folder + ": its cells are packed; unpack them: build/retable report --out " +
                     folder + " --to results/unpacked");
  }
  if (artifacts.empty() && !wanted) {
    throw StoreError(folder + ": no results here; run `build/retable run '*' --out " + folder +
                     "` first");
  }
  SayWhatIsWrong(artifacts, folder);
  std::ranges::sort(artifacts, {}, [](const auto& a) {
    return std::tuple(a.family, a.artifact.size(), a.artifact);
  });
  return artifacts;
}

}  // namespace retable::harness
