#include "harness/record/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.hpp"
#include "base/csv/number.hpp"
#include "base/sha256.hpp"
#include "base/temporary_folder.hpp"
#include "harness/machine/environment.hpp"
#include "harness/plan/plan.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/record/archive.hpp"
#include "harness/record/paths.hpp"
#include "harness/report/artifact.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/report/table.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/steadiness.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

const std::string kMeta = ".meta.json";
constexpr const char* kOfTheFolder[] = {"environment.json", "run.json", "ceilings.json",
                                        "noise.json"};

std::string Recordings(const std::string& root) {
  return root + "/results/recorded";
}

// What a program of these sources is to be named by: the commit that it was built of.
std::string WhyNotOfOneCommit(const json& environment) {
  const json git = environment.value("git", json::object());
  // Older programs noted what CMake had found when it was configured.
  const json built = git.value("built", git.value("configured", json::object()));
  const std::string commit = git.value("commit", "");
  if (commit.empty()) return "by a program whose commit is not known (sources without .git)";
  if (git.value("dirty", false) || built.value("dirty", false)) {
    return "by a program of a changed source tree";
  }
  if (built.value("commit", commit) != commit) {
    return "by a program that was built at another commit than it ran at";
  }
  return "";
}

// Why cells cannot be recorded, each reason with its experiments.
class Refusals {
 public:
  void Add(const std::string& why, const Artifact& artifact) {
    ++reasons_[why][artifact.id];
    profile_ = artifact.profile;
  }

  void Throw(const std::string& folder) const {
    if (reasons_.empty()) return;
    std::string text = folder + " cannot be recorded:\n", ids;
    std::set<std::string> all;
    for (const auto& [why, artifacts] : reasons_) {
      int cells = 0;
      for (const auto& [id, count] : artifacts) cells += count, all.insert(id);
      text += fmt::format(
          "  {} cell{} of {}{} {}\n", cells, cells == 1 ? "" : "s", artifacts.begin()->first,
          artifacts.size() > 1 ? fmt::format(" and {} more", artifacts.size() - 1) : "", why);
    }
    for (const std::string& id : all) ids += " " + id;
    throw StoreError(text +
                     "commit or undo what `git status` names, `make build`, and measure them "
                     "again: " +
                     PlanVariables() + "build/retable run" + ids + " --profile " + profile_ +
                     " --force --out " + folder);
  }

 private:
  std::map<std::string, std::map<std::string, int>> reasons_;
  std::string profile_;
};

// What the cells of a folder say of themselves. @throws StoreError where they cannot be recorded
RecordingFacts FactsOf(const std::string& folder, const std::vector<Artifact>& artifacts) {
  RecordingFacts facts;
  Refusals refusals;
  std::set<std::string> keys, missing, machines;
  std::map<std::string, json> environments;
  for (const Artifact& artifact : artifacts) {
    for (const ArtifactCell& cell : artifact.cells) {
      if (!cell.not_run.empty()) continue;
      if (!cell.problem.empty()) refusals.Add("are damaged", artifact);
      if (!cell.record) {
        missing.insert(cell.key);
        continue;
      }
      if (!cell.record->checked) refusals.Add("bear no checksum", artifact);
      if (!keys.insert(cell.key).second) continue;
      const std::string& hash = cell.record->environment;
      const auto [known, fresh] = environments.try_emplace(hash);
      if (fresh) known->second = EnvironmentOfRun(folder, hash);
      const json& environment = known->second;
      if (!environment.is_object()) {
        refusals.Add("have no environment (runs/" + hash + ".json)", artifact);
        continue;
      }
      if (const auto why = WhyNotOfOneCommit(environment); !why.empty()) {
        refusals.Add("were measured " + why, artifact);
        continue;
      }
      const std::string commit = CommitText(environment);
      if (facts.commit.empty()) facts.commit = commit;
      if (facts.commit != commit) {
        refusals.Add(fmt::format("are of commit {}, others of {}: a recording is of one", commit,
                                 facts.commit),
                     artifact);
      }
      machines.insert(MachineText(environment));
    }
  }
  refusals.Throw(folder);
  if (keys.empty()) throw StoreError(folder + " has no cells to record; `retable run` makes them");
  facts.cells = static_cast<int>(keys.size());
  facts.missing = static_cast<int>(missing.size());
  for (const auto& file : fs::directory_iterator(folder + "/cells")) {
    const std::string key = KeyOfFile(file.path().filename().string());
    facts.left_out += !key.empty() && !keys.contains(key);
  }
  facts.machines.assign(machines.begin(), machines.end());
  return facts;
}

// In seven significant digits, more than a clock tells apart; whole numbers stay as they are.
double Rounded(double sample) {
  return sample == std::floor(sample) ? sample : ParseNumber(fmt::format("{:.7g}", sample)).value();
}

// A cell's file without paths, its samples rounded; its attachments are beside it.
void AddCell(const std::string& folder, const std::string& key, Files& files) {
  const std::string stem = "cells/" + key + ".";
  json cell = json::parse(ReadWhole(folder + "/" + stem + "json"));
  for (json& metric : cell.at("metrics")) {
    for (json& sample : metric.at("samples")) {
      if (sample.is_number_float()) sample = Rounded(sample.get<double>());
    }
  }
  cell.erase("sha256");
  const std::string text = JsonText(cell, 1) + "\n";
  files[stem + "json"] = WithChecksum(WithoutPaths(text.substr(text.find('\n') + 1)));
  for (const json& suffix : cell.at("attachments")) {
    const std::string name = stem + suffix.get<std::string>();
    files[name] = ReadWhole(folder + "/" + name);
  }
}

Files FilesOf(const std::string& folder, const std::vector<Artifact>& artifacts) {
  Files files;
  const auto add = [&](const std::string& name) {
    if (const std::string text = ReadOrEmpty(folder + "/" + name); !text.empty()) {
      files[name] = WithoutPaths(text);
    }
  };
  for (const char* name : kOfTheFolder) add(name);
  for (const Artifact& artifact : artifacts) {
    const std::string stem = artifact.family + "/" + artifact.artifact;
    add(stem + kMeta);
    add(stem + ".paper.csv");
    for (const ArtifactCell& cell : artifact.cells) {
      if (!cell.record) continue;
      const std::string run = "runs/" + cell.record->environment + ".json";
      if (!files.contains(run)) files[run] = ReadWhole(folder + "/" + run);
      if (!files.contains("cells/" + cell.key + ".json")) AddCell(folder, cell.key, files);
    }
  }
  return files;
}

// run.json of all cells: as a run leaves it, it tells of the last command alone.
std::string RunOfAll(const std::string& last, const std::vector<Artifact>& artifacts) {
  nlohmann::ordered_json run = nlohmann::ordered_json::parse(last);
  std::string started, finished, ids;
  RunSummary all;
  std::set<std::string> keys;
  for (const Artifact& artifact : artifacts) {
    ids += " " + artifact.id;
    for (const ArtifactCell& cell : artifact.cells) {
      const bool known = cell.record || !cell.not_run.empty();
      if (!known || !keys.insert(cell.key).second) continue;
      if (!cell.record) {
        CountOutcome({.status = "not_run", .reason = cell.not_run}, false, all);
        continue;
      }
      CountOutcome(cell.record->outcome, true, all);
      const std::string& begun = cell.record->started;
      started = started.empty() ? begun : std::min(started, begun);
      finished = std::max(finished, begun);
      all.seconds += cell.record->seconds;
    }
  }
  run["started"] = started;
  run["finished"] = finished;    // when the last cell was begun
  run["seconds"] = all.seconds;  // of all cells
  run["counts"] = all.counts;
  run["reasons"] = all.reasons;
  run["timed"] = all.timed;
  run["unsteady"] = all.unsteady;
  run["command"] = "build/retable run" + ids + " --profile " + run.value("profile", "");
  run.erase("expected_seconds");
  return JsonText(run, 1) + "\n";
}

// Files that are made of the cells and packed with them: large, and read by programs.
bool IsPacked(const std::string& path) {
  return path.ends_with(".tidy.csv") || path.ends_with(".curves.csv") || path.ends_with(kMeta);
}

// A meta file with the layout, figure and claims of another: in an archive they are those of its
// day.
std::string DeclaredAs(const std::string& then, const std::string& meta) {
  const auto before = nlohmann::ordered_json::parse(then);
  auto now = nlohmann::ordered_json::parse(meta);
  for (const char* name : {"table", "figure", "claims"}) now[name] = before.at(name);
  return JsonText(now) + "\n";
}

std::string WithoutCells(const std::string& meta) {
  auto declared = nlohmann::ordered_json::parse(meta);
  declared.erase("cells");
  return JsonText(declared) + "\n";
}

// The files that are made of a folder's cells: what a person reads, and what is packed.
Files TablesOf(const std::string& folder) {
  Files tables;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).generic_string();
    const bool of_the_folder = std::ranges::count(kOfTheFolder, path);
    const bool table =
        path.ends_with(".csv") && !path.ends_with(".samples.csv") && !path.ends_with(".paper.csv");
    if (!entry.is_regular_file() || path.starts_with("cells/") || path.starts_with("runs/") ||
        (!of_the_folder && !table && !IsPacked(path))) {
      continue;
    }
    tables[path] = ReadWhole(entry.path());
  }
  return tables;
}

std::string ArchiveAt(const std::string& path) {
  return fs::is_directory(path) ? path + "/" + kArchive : path;
}

void WriteInto(const fs::path& folder, const std::string& path, const std::string& content) {
  const fs::path file = folder / path;
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << content;
  if (!out.flush()) throw StoreError(file.string() + ": cannot be written; is the disk full?");
}

// Reads an archive; says what to do where it is damaged.
void Read(const std::string& path,
          const std::function<void(const std::string& path, std::string content)>& visit) {
  std::string bytes;
  try {
    bytes = ReadWhole(path);
  } catch (const std::runtime_error& problem) {
    throw StoreError(fmt::format("no archive of cells: {}", problem.what()));
  }
  try {
    ReadArchive(bytes, visit);
  } catch (const ArchiveError& problem) {
    throw StoreError(
        fmt::format("{} is damaged: {}; take it again from where it came, such as "
                    "`git checkout -- {}`",
                    path, problem.what(), path));
  }
}

Files FilesIn(const std::string& archive) {
  Files files;
  Read(archive,
       [&](const std::string& path, std::string content) { files[path] = std::move(content); });
  return files;
}

// How a recorded file is otherwise than what is made by now, with the first row that is; empty
// where it is not.
std::string Difference(const std::string& path, const std::string& recorded,
                       const std::string& made) {
  if (recorded == made) return "";
  if (recorded.empty()) return path + " is missing";
  const auto same = std::ranges::mismatch(recorded, made).in1;
  const std::string before(recorded.begin(), same);
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto row = [&](const std::string& text) {
    constexpr std::size_t kLongest = 1000;
    return text.substr(begin, std::min(text.find('\n', begin) - begin, kLongest));
  };
  return fmt::format("{} differs\n  recorded:   {}\n  recomputed: {}", path, row(recorded),
                     row(made));
}

// Makes the tables of packed files. Those of a person are returned; of `files` the others become
// what they are by now. @param stale is told how they were otherwise
Files MakeTables(Files& files, const std::string& root, Scoreboard& board,
                 std::vector<std::string>& stale) {
  const TemporaryFolder unpacked;
  const std::string folder = unpacked.path().string();
  for (const auto& [path, content] : files) WriteInto(unpacked.path(), path, content);
  FactsOf(folder, LoadArtifacts(folder));
  board = WriteResults(folder, root);
  Files tables = TablesOf(folder);
  std::erase_if(tables, [&](const auto& table) {
    const auto& [path, made] = table;
    if (!IsPacked(path)) return false;
    std::string& packed = files[path];
    std::string now = path.ends_with(kMeta) ? DeclaredAs(packed, made) : made;
    if (packed != now) stale.push_back(Difference(path, packed, now));
    packed = std::move(now);
    return true;
  });
  return tables;
}

// Files of the folder that are not among these, but for the archive.
std::vector<std::string> OthersIn(const std::string& folder, const Files& files) {
  std::vector<std::string> others;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).generic_string();
    if (entry.is_regular_file() && path != kArchive && !files.contains(path)) {
      others.push_back(path);
    }
  }
  std::ranges::sort(others);
  return others;
}

// Leaves these files and the archive in the folder, and no others.
void Publish(const Files& files, const std::string& folder) {
  for (const auto& [path, content] : files) WriteFileAtomically(folder + "/" + path, content);
  for (const std::string& path : OthersIn(folder, files)) fs::remove(folder + "/" + path);
}

// A hash of the tables, declarations and archives in a folder.
std::string HashOf(const std::string& folder) {
  Files hashes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".csv" && ending != ".json" && ending != ".toml" && ending != ".zst") continue;
    hashes[fs::relative(entry.path(), folder).generic_string()] = Sha256(ReadWhole(entry.path()));
  }
  std::string all;
  for (const auto& [path, hash] : hashes) all += path + " " + hash + "\n";
  return Sha256(all);
}

// Whether the figure shows single samples, which no packed table has.
bool ShowsSamples(const std::string& meta) {
  const json declared = json::parse(meta);
  const json::json_pointer at("/figure/kind");
  const std::string kind = declared.contains(at) ? declared.at(at).get<std::string>() : "";
  return kind == "violin" || kind == "histogram";
}

// Makes the folder `to` of a recording with an archive; `stamp` says what it is made of.
void MakeReadable(const std::string& recording, const std::string& root, const std::string& to,
                  const std::string& stamp) {
  const std::string kept_stamp = to + "/.made-of";
  if (ReadOrEmpty(kept_stamp) == stamp) return;
  const TemporaryFolder unpacked;
  std::set<std::string> of_samples;  // artifacts whose figures show samples
  Files tables;
  Read(ArchiveAt(recording), [&](const std::string& path, const std::string& content) {
    WriteInto(unpacked.path(), path, content);
    if (!IsPacked(path) && !path.ends_with(".paper.csv")) return;
    const bool meta = path.ends_with(kMeta);
    if (meta && ShowsSamples(content)) of_samples.insert(path.substr(0, path.find('.')));
    tables[path] = meta ? WithoutCells(content) : content;
  });
  for (Artifact& artifact : LoadArtifacts(
           unpacked.path(), [&](const std::string& id) { return of_samples.contains(id); })) {
    for (ArtifactCell& cell : artifact.cells) {
      if (!cell.record) continue;
      std::erase_if(cell.record->outcome.metrics,
                    [&](const Metric& metric) { return metric.name != artifact.figure_metric; });
    }
    const std::string samples = SamplesCsv(artifact, std::numeric_limits<std::size_t>::max());
    if (!samples.empty()) tables[artifact.id + ".samples.csv"] = samples;
  }
  for (const std::string& path : OthersIn(recording, {})) {
    tables[path] = ReadWhole(recording + "/" + path);
  }
  Publish(tables, to);
  DeclareAnew(to, root);
  WriteFileAtomically(kept_stamp, stamp);
}

// What must be equal where a run goes on: as EnvironmentDifferences names it.
std::vector<std::string> MustBeEqual(bool cpu, bool cuda) {
  std::vector<std::string> paths = {"git.commit: ", "git.dirty: ", "compiler."};
  if (cuda) paths.insert(paths.end(), {"gpu.0.name: ", "cuda.compiler: "});
  if (cpu) paths.insert(paths.end(), {"cpu.model: ", "cpu.threads_allowed: "});
  return paths;
}

}  // namespace

bool HasArchive(const std::string& folder) {
  return fs::exists(fs::path(folder) / kArchive);
}

std::string FindRecording(const std::string& root, const std::string& name) {
  const std::string folder = Recordings(root) + "/" + name;
  if (!name.empty() && HasArchive(folder)) return folder;
  if (!name.empty() && fs::is_directory(folder)) {
    throw StoreError(fmt::format(
        "{} has no archive of its cells; take it again from where it came, such as `git checkout "
        "-- {}`",
        folder, ArchiveAt(folder)));
  }
  std::error_code none;
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(Recordings(root), none)) {
    if (HasArchive(entry.path().string())) all.insert(entry.path().filename().string());
  }
  throw StoreError(fmt::format("no recording \"{}\" in {}; there {}", name, Recordings(root),
                               all.empty() ? "are none: build/retable record NAME makes one"
                                           : fmt::format("are: {}", fmt::join(all, ", "))));
}

std::string ReadableRecordings(const std::string& root) {
  if (!fs::is_directory(Recordings(root))) return Recordings(root);
  const fs::path recorded = fs::canonical(Recordings(root)), readable = root + "/build/recorded";
  MakeFolder(readable);
  const FileLock lock(readable.string() + ".lock");
  const std::string declared = HashOf(root + "/experiments");
  for (const auto& entry : fs::directory_iterator(recorded)) {
    if (!entry.is_directory()) continue;
    const fs::path from = entry.path(), to = readable / from.filename();
    const bool packed = HasArchive(from), linked = fs::is_symlink(to);
    if (linked && !packed && fs::read_symlink(to) == from) continue;
    if (linked || !packed)
      fs::remove_all(to);  // never through a link: that is the recording itself
    if (packed) MakeReadable(from, root, to, declared + HashOf(from));
    if (!packed) fs::create_directory_symlink(from, to);
  }
  for (const auto& entry : fs::directory_iterator(readable)) {
    if (!fs::exists(recorded / entry.path().filename())) fs::remove_all(entry);
  }
  return readable.string();
}

RecordingFacts RecordResults(const std::string& from, const std::string& root,
                             const std::string& name, bool replace) {
  const bool good = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!good) {
    throw StoreError("\"" + name + "\" is no name of a recording: a-z, 0-9, - and _ are allowed");
  }
  const std::string folder = Recordings(root) + "/" + name;
  if (fs::exists(folder) && !replace) {
    throw StoreError(folder + " is there already; --replace writes over it");
  }
  const Store store(from, LockMode::kExclusive);  // no run changes it meanwhile
  const std::vector<Artifact> artifacts = LoadArtifacts(from);
  RecordingFacts facts = FactsOf(from, artifacts);
  Files files = FilesOf(from, artifacts);
  if (files.contains("run.json")) files["run.json"] = RunOfAll(files["run.json"], artifacts);
  Scoreboard board;
  std::vector<std::string> fresh;
  const Files tables = MakeTables(files, root, board, fresh);
  const std::string archive = PackArchive(files);
  facts.folder = folder;
  facts.archive_bytes = archive.size();
  WriteFileAtomically(folder + "/" + kArchive, archive);
  Publish(tables, folder);
  return facts;
}

void Unpack(const std::string& archive, const std::string& folder,
            const std::function<bool(const std::string& path)>& wanted) {
  CheckWritable(folder);
  Read(ArchiveAt(archive), [&](const std::string& path, const std::string& content) {
    if ((wanted && !wanted(path)) || fs::exists(fs::path(folder) / path)) return;
    WriteInto(folder, path, content);
  });
}

void UnpackInPlace(const std::string& folder) {
  for (const std::string& path : OthersIn(folder, {})) fs::remove(folder + "/" + path);
  Unpack(folder, folder);
  fs::remove(folder + "/" + kArchive);
}

RecordingCheck CheckRecording(const std::string& folder, const std::string& root, bool rewrite) {
  RecordingCheck check;
  Files files = FilesIn(ArchiveAt(folder));
  std::vector<std::string> stale;
  const Files tables = MakeTables(files, root, check.board, stale);
  if (rewrite && !stale.empty()) WriteFileAtomically(ArchiveAt(folder), PackArchive(files));
  if (rewrite) Publish(tables, folder);
  for (const std::string& difference : stale) {
    if (!rewrite) check.differences.push_back(std::string(kArchive) + ": " + difference);
  }
  for (const auto& [path, content] : tables) {
    const std::string difference = Difference(path, ReadOrEmpty(folder + "/" + path), content);
    if (!difference.empty()) check.differences.push_back(difference);
  }
  for (const std::string& path : OthersIn(folder, tables)) {
    check.differences.push_back(path + " is not of the archive");
  }
  return check;
}

void ResumeFrom(const std::string& archive, const std::string& out, const json& here, bool cpu,
                bool cuda) {
  const TemporaryFolder unpacked;
  const std::string there = unpacked.path().string();
  Unpack(archive, there);
  std::map<std::string, bool> on_cpu, on_cuda;  // environments of cells that this run goes on with
  for (const Artifact& artifact : LoadArtifacts(there)) {
    for (const ArtifactCell& cell : artifact.cells) {
      if (!cell.record) continue;
      const std::string& hash = cell.record->environment;
      const bool gpu = cell.config.device == "cuda";
      on_cuda[hash] |= cuda && gpu;
      on_cpu[hash] |= cpu && !gpu && IsTimed(cell.record->outcome);
    }
  }
  std::set<std::string> differences;
  for (const auto& [hash, timed] : on_cpu) {
    const auto paths = MustBeEqual(timed, on_cuda[hash]);
    for (const std::string& line : EnvironmentDifferences(here, EnvironmentOfRun(there, hash))) {
      const bool counts =
          std::ranges::any_of(paths, [&](const auto& path) { return line.starts_with(path); });
      if (counts) differences.insert(line);
    }
  }
  if (!differences.empty()) {
    std::string text;
    for (const std::string& line : differences) text += "  " + line + "\n";
    throw StoreError(archive +
                     " was measured otherwise than this run would go on (here | there):\n" + text +
                     "go on with the same commit and compiler on a machine of that kind, or "
                     "measure all anew without --resume-from");
  }
  Unpack(archive, out);
}

}  // namespace retable::harness
