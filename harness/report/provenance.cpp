#include "harness/report/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/report/artifact.hpp"

namespace retable::harness {
namespace {

using nlohmann::json;

std::string CommitText(const json& environment) {
  const json git = environment.value("git", json::object());
  const std::string commit = git.value("commit", "").substr(0, 12);
  return commit.empty() || !git.value("dirty", false) ? commit : commit + "+changes";
}

std::string PathOf(const std::string& folder, const std::string& hash) {
  return folder + "/runs/" + hash + ".json";
}

// What a cell's environment hash stands for; of folders of older programs only the last run is
// known.
Origin OriginOf(const Artifact& artifact, const std::string& hash) {
  Origin origin;
  const json run = json::parse(ReadOrEmpty(PathOf(artifact.folder, hash)), nullptr, false);
  if (run.is_object()) {
    origin.profile = run.value("profile", "");
    origin.commit = run.value("commit", "");
    origin.machine = run.value("machine", "");
    return origin;
  }
  origin.profile = artifact.profile;
  std::string last = ReadOrEmpty(artifact.folder + "/environment.json");
  if (last.empty()) return origin;
  last.pop_back();  // the end of the line
  const json environment = json::parse(last, nullptr, false);
  if (environment.is_object() && EnvironmentHash(last) == hash) {
    origin.commit = CommitText(environment);
    origin.machine = MachineText(environment);
  }
  return origin;
}

}  // namespace

std::string Origin::Text() const {
  const std::string first = started.substr(0, 10), last = finished.substr(0, 10);
  return fmt::format("profile {}, {}{}, commit {}, {}", profile,
                     first.empty() ? "date not known" : first, first == last ? "" : " to " + last,
                     commit.empty() ? "not known" : commit,
                     machine.empty() ? "machine not known" : machine);
}

std::string MachineText(const json& environment) {
  std::string text;
  if (environment.contains("cpu")) {
    const json& cpu = environment["cpu"];
    text = cpu.value("model", "a processor");
    const int threads = cpu.value("threads_allowed", 0);
    if (threads > 0) text += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  }
  std::map<std::string, int> cards;
  const json gpus = environment.value("gpu", json::array());
  for (const json& gpu : gpus) ++cards[gpu.value("name", "a GPU")];
  for (const auto& [name, count] : cards) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : "") + name;
  }
  return text;
}

std::string EnvironmentHash(const std::string& environment) {
  return Sha256(environment).substr(0, 16);
}

void WriteOrigin(const std::string& folder, const std::string& profile,
                 const std::string& environment) {
  const json parsed = json::parse(environment);
  const nlohmann::ordered_json run = {
      {"profile", profile}, {"commit", CommitText(parsed)}, {"machine", MachineText(parsed)}};
  WriteFileAtomically(PathOf(folder, EnvironmentHash(environment)), JsonText(run, 1) + "\n");
}

std::vector<Origin> OriginsOf(const Artifact& artifact) {
  if (artifact.recorded) return artifact.provenance;
  std::map<std::string, Origin> by_hash;
  std::map<std::tuple<std::string, std::string, std::string>, Origin> groups;
  for (const ArtifactCell& cell : artifact.cells) {
    if (!cell.record) continue;
    const auto [run, fresh] = by_hash.emplace(cell.record->environment, Origin{});
    if (fresh) run->second = OriginOf(artifact, cell.record->environment);
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
  std::stable_sort(origins.begin(), origins.end(),
                   [](const Origin& a, const Origin& b) { return a.started < b.started; });
  return origins;
}

}  // namespace retable::harness
