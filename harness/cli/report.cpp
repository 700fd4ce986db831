#include "harness/cli/report.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "base/atomic_file.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/cli/shell.hpp"
#include "harness/plan/estimate.hpp"
#include "harness/record/record.hpp"
#include "harness/report/artifact.hpp"
#include "harness/report/origins/history.hpp"
#include "harness/report/results.hpp"
#include "harness/report/terminal/summary.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

struct FolderArguments {
  std::string out = "results/latest";
  std::string to;        //!< folder that a report writes to; empty: `out` itself
  std::string recorded;  //!< a recording's name, in place of `out`
  bool strict = false, rewrite = false;
};

void SayUnnoted(const Scoreboard& board, std::ostream& err) {
  if (board.unnoted_claims.empty()) return;
  err << fmt::format(
      "error: {} failing claim{} without a note: find out why and say it (claim[].note in the "
      "experiment's TOML)\n",
      board.unnoted_claims.size(), board.unnoted_claims.size() == 1 ? "" : "s");
}

// A folder is judged by its own copy of the published values. Where that is another than the
// experiment's, either may have been edited.
void SayOtherPublished(const Context& context, const std::string& folder, std::ostream& err) {
  std::string ids;
  try {
    for (const Experiment& experiment : LoadExperiments(context.root, {})) {
      const std::string artifact = folder + "/" + experiment.id;
      if (!fs::exists(artifact + ".meta.json")) continue;
      if (ReadOrEmpty(artifact + ".paper.csv") == ReadOrEmpty(experiment.paper_file)) continue;
      ids += " " + experiment.id;
    }
  } catch (const ConfigError&) {  // a folder is judged without experiments, too
    return;
  }
  if (ids.empty()) return;
  err << "note: " << folder << " has other published values than experiments/, and is judged by "
      << "its own:" << ids << "; the same `retable run` again takes those of experiments/\n";
}

// What counts of a recording is that it says what its cells say; a verdict is a finding.
int CheckArchive(const Context& context, const std::string& folder, const FolderArguments& a,
                 std::ostream& out, std::ostream& err) {
  const RecordingCheck check = CheckRecording(folder, context.root, a.rewrite);
  out << ScoreboardText(check.board);
  for (const std::string& difference : check.differences) {
    err << "error: " << folder << "/" << difference << "\n";
  }
  if (!check.differences.empty()) {
    err << "the archive of cells gives other tables; if experiments, claims or rules changed: "
           "build/retable check --out "
        << folder << " --rewrite; if a file was changed by hand: git checkout -- " << folder
        << "\n";
    return kVerdictFailed;
  }
  if (!a.strict || check.board.unnoted_claims.empty()) return kOk;
  SayUnnoted(check.board, err);
  return kVerdictFailed;
}

int Check(const Context& context, const FolderArguments& a, std::ostream& out, std::ostream& err) {
  const std::string recording =
      a.recorded.empty() ? a.out : FindRecording(context.root, a.recorded);
  CheckResultsFolder(recording);
  if (HasArchive(recording)) return CheckArchive(context, recording, a, out, err);
  CheckHasCells(a.out);
  if (a.rewrite) {
    throw StoreError(a.out +
                     " is no folder of recorded results: --rewrite is for those; run and report "
                     "write what is made from cells");
  }
  const Scoreboard board = JudgeResults(a.out);
  SayOtherPublished(context, a.out, err);
  out << ScoreboardText(board);
  if (!a.strict || !board.FailsStrictly()) return board.damaged ? kCellFailed : kOk;
  SayUnnoted(board, err);
  return kVerdictFailed;
}

// The folder that a report writes to.
std::string FolderOfReport(const FolderArguments& a) {
  CheckResultsFolder(a.out);
  CheckHasCells(a.out);
  if (!a.to.empty()) {
    CopyResults(a.out, a.to);
    if (HasArchive(a.to)) UnpackInPlace(a.to);
    return a.to;
  }
  if (HasNoCells(a.out)) {
    throw StoreError(a.out +
                     " is a recording; nothing is written there: give the report a folder of its "
                     "own, report --out " +
                     ShellWord(a.out) + " --to results/report");
  }
  return a.out;
}

int Report(const Context& context, const FolderArguments& a, std::ostream& out, std::ostream& err) {
  if (IsBeingWritten(a.out)) {
    err << "note: a run is still writing " << a.out << "; the report shows what is stored so far\n";
  }
  const std::string folder = FolderOfReport(a);
  const Scoreboard board = WriteResults(folder, HasArchive(a.out) ? context.root : "");
  SayOtherPublished(context, folder, err);
  std::string page;
  const int code = DrawReport(context, folder, page, err);
  out << SummaryText(board, folder, page);
  return code;
}

}  // namespace

std::string PythonProgram() {
  if (const char* python = std::getenv("RETABLE_PYTHON")) return python;
  return fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

int DrawReport(const Context& context, const std::string& folder, std::string& page,
               std::ostream& err) {
  HistoryQuery query;
  const std::string recorded = RecordingsToShow(context.root, err);
  query.folders = FoldersOf({context.root + "/results", recorded});
  query.folders.push_back(folder);
  WriteFileAtomically(folder + "/history.json", HistoryJson(ReadHistory(query)));
  const std::string command = fmt::format(
      "{} {} --out {} --recorded {}", ShellWord(PythonProgram()),
      ShellWord(context.root + "/plots/report.py"), ShellWord(folder), ShellWord(recorded));
  const std::size_t artifacts = LoadArtifacts(folder).size();
  err << fmt::format(
             "drawing the figures and the report, about {} left\n",
             DurationText(WritingSeconds(artifacts, true) - WritingSeconds(artifacts, false)))
      << std::flush;
  const int status = std::system(command.c_str());
  if (WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + SIGINT) {
    err << "interrupted; the tables in " << folder
        << " are complete, run the same command again for the figures\n";
    return kInterrupted;
  }
  if (status != 0) {
    err << "the figures could not be drawn (exit code " << WEXITSTATUS(status)
        << "); they need Python 3 with matplotlib and jinja2: apt-get install python3-matplotlib "
           "python3-jinja2. The tables in "
        << folder << " are complete.\n";
    return kUsage;
  }
  page = fs::absolute(folder + "/report.html").string();
  return kOk;
}

Verb MakeCheckVerb(const Context& context) {
  return MakeVerb<FolderArguments>(
      context, "check", "Verdicts and claims of a results folder",
      [](CLI::App& verb, FolderArguments& a) {
        CLI::Option* folder = verb.add_option("--out", a.out, "results folder");
        verb.add_option("--recorded", a.recorded,
                        "a recording's name: its tables are made again from its archive of cells, "
                        "and exit 4 where one differs")
            ->excludes(folder);
        verb.add_flag(
            "--strict", a.strict,
            "exit 4 when a verdict is MISMATCH, ORDER-ONLY or FAILED, a claim fails, or a cell "
            "gave no right answer; "
            "with an archive of cells, where a failing claim has no note");
        verb.add_flag(
            "--rewrite", a.rewrite,
            "a recording: write its tables, verdicts and claims as its archive gives them by now");
      },
      Check);
}

Verb MakeReportVerb(const Context& context) {
  return MakeVerb<FolderArguments>(
      context, "report", "Tables, figures, report.html and report.md",
      [](CLI::App& verb, FolderArguments& a) {
        verb.add_option("--out", a.out, "results folder");
        verb.add_option("--to", a.to,
                        "a new folder: the results are copied there first, and nothing is written "
                        "to --out");
      },
      Report);
}

}  // namespace retable::harness
