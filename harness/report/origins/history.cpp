#include "harness/report/origins/history.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "base/atomic_file.hpp"
#include "base/glob.hpp"
#include "base/temporary_folder.hpp"
#include "harness/cli/shell.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/record/record.hpp"
#include "harness/report/origins/written_table.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

using nlohmann::ordered_json;
using Place = std::pair<std::string, std::string>;  // row and column

// An artifact in one folder.
struct Edition {
  Artifact artifact;
  Table table;
  bool written;  // its cells are not at hand
};

// What a command prints; empty when it fails.
std::string Printed(const std::string& command) {
  const ShellAnswer answer = AskShell(command + " 2>/dev/null");
  return answer.status == 0 ? answer.text : "";
}

// A version of a recorded artifact: its three files go to a folder of their own, out of the archive
// what the commit has there. `named` is where its tidy.csv was.
std::optional<Edition> ReadVersion(const std::string& git, const std::string& commit,
                                   const std::string& date, const std::string& named,
                                   const std::string& archive, const Artifact& now) {
  const TemporaryFolder folder;
  const auto shown = [&](const std::string& path) {
    return Printed(git + " show " + ShellWord(commit + ":" + path));
  };
  const std::string stem = named.substr(0, named.size() - std::string("tidy.csv").size()),
                    file = now.family + "/" + now.artifact + ".",
                    here = (folder.path() / file).string(),
                    packed = (folder.path() / kArchive).string();
  try {
    for (const std::string suffix : {"meta.json", "tidy.csv", "csv"}) {
      const std::string text = shown(stem + suffix);
      if (!text.empty()) WriteFileAtomically(here + suffix, text);
    }
    if (!fs::exists(here + "tidy.csv")) {
      WriteFileAtomically(packed, shown(archive));
      Unpack(packed, folder.path(), [&](const auto& path) { return path.starts_with(file); });
    }
    ordered_json meta = ordered_json::parse(ReadOrEmpty(here + "meta.json"));
    meta["id"] = now.id;  // its name today
    meta["artifact"] = now.artifact;
    const std::string machine = now.provenance.empty() ? "" : now.provenance.back().machine;
    meta["provenance"] = {{{"profile", meta.at("profile")},
                           {"started", date},
                           {"finished", date},
                           {"commit", commit},
                           {"machine", machine},
                           {"cells", 0}}};
    WriteFileAtomically(here + "meta.json", meta.dump());
    std::vector<Artifact> artifacts = LoadArtifacts(folder.path().string());
    Artifact& version = artifacts.front();
    Table table = ReadWrittenTable(version);
    version.folder = now.folder;
    return Edition{std::move(version), std::move(table), true};
  } catch (const std::exception&) {  // of a form that is not read any more
    return std::nullopt;
  }
}

// The versions of a recorded artifact, the newest first.
std::vector<Edition> ReadVersions(const std::string& repository, const Artifact& now) {
  std::vector<Edition> versions;
  const std::string git = "git -C " + ShellWord(repository);
  fs::path folder = fs::path(repository) / "results/recorded" / fs::path(now.folder).filename();
  if (!HasArchive(folder)) folder = now.folder;
  const auto log_of = [&](const std::string& options, const std::string& path) {
    return Printed(git + " log " + options + " --format=@%h@%cI --name-only -- " + ShellWord(path));
  };
  const auto named = [&](const std::string& file) {
    return fs::relative(folder / file, repository).generic_string();
  };
  const std::string archive = named(kArchive),
                    tidy = named(now.family + "/" + now.artifact + ".tidy.csv");
  std::istringstream log(log_of("", archive) + log_of("--follow", tidy));
  std::set<std::string> read;
  std::string commit, date;
  for (std::string line; std::getline(log, line);) {
    const auto at = line.find('@', 1);
    if (line.starts_with("@") && at != std::string::npos) {
      commit = line.substr(1, at - 1);
      date = line.substr(at + 1);
    } else if (!line.empty() && read.insert(commit).second) {
      const std::string& there = line == archive ? tidy : line;
      if (auto version = ReadVersion(git, commit, date, there, archive, now)) {
        versions.push_back(std::move(*version));
      }
    }
  }
  return versions;
}

std::map<std::string, std::vector<Edition>> ReadEditions(const HistoryQuery& query) {
  const auto wanted = [&](const std::string& id) {
    return query.globs.empty() || std::ranges::any_of(query.globs, [&](const auto& glob) {
             return GlobMatches(glob, id);
           });
  };
  std::map<std::string, std::vector<Edition>> editions;
  std::set<fs::path> read;
  for (const std::string& folder : query.folders) {
    if (!read.insert(fs::weakly_canonical(folder)).second) continue;
    // One folder that cannot be read must not keep the others from being shown.
    try {
      const bool written = HasNoCells(folder);
      for (Artifact& artifact : LoadArtifacts(folder, wanted)) {
        Table table = written ? ReadWrittenTable(artifact) : BuildTable(artifact);
        std::vector<Edition>& all = editions[artifact.id];
        bool committed = false;
        if (written && !query.repository.empty()) {
          std::vector<Edition> versions = ReadVersions(query.repository, artifact);
          committed = !versions.empty() && TableCsv(versions.front().table) == TableCsv(table);
          std::move(versions.begin(), versions.end(), std::back_inserter(all));
        }
        if (!committed) all.push_back({std::move(artifact), std::move(table), written});
      }
    } catch (const std::exception& problem) {
      std::cerr << "note: left out of the history: " << problem.what() << "\n";
    }
  }
  return editions;
}

// The first place, in the order of the tables, that most editions have a value for.
std::optional<Place> MainFigure(const std::vector<Edition>& editions, const HistoryQuery& query) {
  std::map<Place, int> counts;
  std::vector<Place> order;
  for (const Edition& edition : editions) {
    for (const std::string& row : edition.table.rows) {
      for (const std::string& column : edition.table.columns) {
        const TableCell* cell = edition.table.Find(row, column);
        if (cell == nullptr || !cell->has_value || !cell->text.empty()) continue;
        if (!query.row.empty() && row != query.row) continue;
        if (!query.column.empty() && column != query.column) continue;
        if (counts[{row, column}]++ == 0) order.emplace_back(row, column);
      }
    }
  }
  const auto most =
      std::ranges::max_element(order, {}, [&](const auto& name) { return counts[name]; });
  if (most == order.end()) return std::nullopt;
  return *most;
}

// The device of the cells behind a row or column, where they agree.
std::string DeviceOf(const Artifact& artifact, const Place& place) {
  std::string device;
  for (const ArtifactCell& cell : artifact.cells) {
    const std::string& label = cell.config.label;
    const bool behind = place.first.find(label) != std::string::npos || place.second == label;
    if (!behind || !cell.record) continue;
    if (!device.empty() && device != cell.config.device) return "";
    device = cell.config.device;
  }
  return device;
}

std::optional<HistoryPoint> PointOf(const Edition& edition, const Place& place) {
  const TableCell* cell = edition.table.Find(place.first, place.second);
  if (cell == nullptr || !cell->has_value || !cell->text.empty()) return std::nullopt;
  HistoryPoint point;
  point.folder = fs::path(edition.artifact.folder).lexically_normal().filename().string();
  point.profile = edition.artifact.profile;
  const std::vector<Origin> origins =
      edition.written ? edition.artifact.provenance : OriginsOf(edition.artifact);
  if (!origins.empty()) {
    const Origin& last = *std::ranges::max_element(origins, {}, &Origin::finished);
    point.date = last.finished;
    point.commit = last.commit;
    point.machine = last.machine;
  }
  point.device = DeviceOf(edition.artifact, place);
  point.dataset = cell->dataset;
  point.row = place.first;
  point.column = place.second;
  point.unit = cell->unit;
  point.value = cell->value;
  point.low = cell->ci_low;
  point.high = cell->ci_high;
  return point;
}

// Leaves of a folder's points in a row with equal figures the first.
void DropRepeated(std::vector<HistoryPoint>& points) {
  std::map<std::string, double> last;  // by folder
  std::erase_if(points, [&](const HistoryPoint& point) {
    const auto [value, fresh] = last.emplace(point.folder, point.value);
    const bool repeated = !fresh && value->second == point.value;
    value->second = point.value;
    return repeated;
  });
}

}  // namespace

History ReadHistory(const HistoryQuery& query) {
  History history;
  for (const auto& [id, editions] : ReadEditions(query)) {
    const auto place = MainFigure(editions, query);
    if (!place) continue;
    std::vector<HistoryPoint>& points = history[id];
    for (const Edition& edition : editions) {
      if (auto point = PointOf(edition, *place)) points.push_back(std::move(*point));
    }
    std::ranges::stable_sort(points, [](const auto& a, const auto& b) { return a.date < b.date; });
    if (!query.repository.empty()) DropRepeated(points);
  }
  return history;
}

std::string HistoryJson(const History& history) {
  ordered_json all = ordered_json::object();
  for (const auto& [id, points] : history) {
    for (const HistoryPoint& p : points) {
      all[id].push_back({{"folder", p.folder},
                         {"commit", p.commit},
                         {"date", p.date},
                         {"machine", p.machine},
                         {"profile", p.profile},
                         {"device", p.device},
                         {"label", p.row},
                         {"dataset", p.dataset},
                         {"metric", p.column},
                         {"unit", p.unit},
                         {"median", NumberToJson(p.value)},
                         {"low", NumberToJson(p.low)},
                         {"high", NumberToJson(p.high)}});
    }
  }
  return JsonText(all, 1) + "\n";
}

std::vector<std::string> FoldersOf(const std::vector<std::string>& parents) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const std::string& parent : parents) {
    const auto first = static_cast<std::ptrdiff_t>(folders.size());
    for (const auto& entry : fs::directory_iterator(parent, error)) {
      if (fs::exists(entry.path() / "run.json", error)) folders.push_back(entry.path().string());
    }
    std::sort(folders.begin() + first, folders.end());
  }
  return folders;
}

}  // namespace retable::harness
