#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/atomic_file.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/missing_data.hpp"
#include "harness/cli/report.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/cli/selection.hpp"
#include "harness/cli/shell.hpp"
#include "harness/cluster/slurm.hpp"
#include "harness/machine/activity.hpp"
#include "harness/machine/device.hpp"
#include "harness/machine/environment.hpp"
#include "harness/plan/estimate.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/record/record.hpp"
#include "harness/report/missing_cell.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/report/results.hpp"
#include "harness/report/terminal/summary.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/runner.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

struct RunArguments {
  Selection selection;
  RunOptions options;              //!< as far as its words are its values
  std::string shard;               //!< "i/n", or "auto": from the environment of Slurm or MPI
  std::string budget;              //!< "10m"
  std::string wait_quiet;          //!< "10m"; empty: timed cells begin at once
  std::string submit;              //!< "slurm", and options of sbatch; empty: the run is here
  std::vector<std::string> typed;  //!< "--name=value", experiments; no --submit, no --dry-run
  bool report = false;
  std::string resume_from;         //!< an archive of cells, or a folder that holds one
  const CLI::App* verb = nullptr;  //!< the parser, which keeps the words
};

// The words that decide which cells there are, for the command that repeats one.
std::string PlanWords(const std::vector<std::string>& typed) {
  std::string text;
  for (const std::string& word : typed) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--set" || name == "--machine" || name == "--repeats" || name == "--rounds") {
      text += " " + ShellWord(word);
    }
  }
  return text;
}

RunOptions MakeOptions(const Context& context, const RunArguments& a) {
  RunOptions options = a.options;
  options.out = a.selection.out;
  options.profile = a.selection.profile;
  options.program = context.program;
  for (const std::string& cell : options.cells) {
    if (!cell.empty()) continue;
    throw ConfigError({"--cell", 0, 0},
                      "expected a key or its first digits, found nothing: is a "
                      "variable of the shell not set?");
  }
  options.plan_words = PlanWords(a.typed);
  options.by_group |= !a.resume_from.empty();
  if (!a.budget.empty()) options.budget_seconds = ParseDuration("--budget", a.budget);
  if (!a.wait_quiet.empty()) {
    options.wait_quiet_seconds = ParseDuration("--wait-quiet", a.wait_quiet);
  }
  const Shard shard = ParseShard(a.shard);
  options.shard = shard.index - 1;
  options.shards = shard.count;
  return options;
}

void PrintDryRun(const std::vector<Plan>& plans, const RunOptions& options, std::ostream& out) {
  int hits = 0, misses = 0, not_run = 0, passed_over = 0;
  StatusCounts reasons;
  for (const Decision& d : Decide(plans, options, out)) {
    const CellConfig& c = d.cell->config;
    const char* what = d.measure ? "miss" : d.stored ? "hit " : "----";
    ++(d.cell->not_run ? not_run : d.measure ? misses : d.stored ? hits : passed_over);
    if (d.cell->not_run) ++reasons[*d.cell->not_run];
    out << fmt::format("{} {} {:24} {:34} {:28} {}\n", what, d.cell->key.substr(0, 12),
                       c.experiment, c.label, c.dataset, d.why);
  }
  out << fmt::format(
      "{} stored, {} to measure, {} not run{}{}\n", hits, misses, not_run, ReasonsText(reasons),
      passed_over == 0 ? "" : fmt::format(", {} not measured yet and passed over", passed_over));
}

int ExitFor(const std::map<std::string, int>& counts) {
  bool failed = false, wrong = false;
  for (const auto& [status, count] : counts) {
    if (count == 0) continue;
    wrong = wrong || status == "wrong_result";
    failed =
        failed || status == "failed" || status == "crash" || status == "timeout" || status == "oom";
  }
  return wrong ? kWrongResult : (failed ? kCellFailed : kOk);
}

// How many times longer than on a quiet machine cells take where others take their share.
double Pace(const Activity& activity) {
  return activity.Busy() ? 1 + activity.others / activity.processors : 1;
}

// What the machine can do at best, for the roofline fractions of the timed cells that declare their
// work. Measured once a folder, on each device when cells have run there; the smoke profile has no
// time for it.
void MeasureCeilings(const std::vector<Plan>& plans, const Selection& selection,
                     std::ostream& err) {
  const std::string path = selection.out + "/ceilings.json";
  if (selection.profile == "smoke") return;
  std::vector<Ceiling> ceilings = CeilingsFromJson(ReadOrEmpty(path));
  const auto known = [&](bool gpu) {
    return std::ranges::any_of(
        ceilings, [&](const Ceiling& ceiling) { return (ceiling.device == "cuda") == gpu; });
  };
  const bool measured[] = {known(false), known(true)};
  bool wanted[] = {false, false};
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      const bool gpu = cell.config.device == "cuda";
      if (!cell.exclusive || cell.not_run || measured[gpu] || wanted[gpu]) continue;
      const auto record = LoadRecord(selection.out, cell.key);
      wanted[gpu] = record && !record->outcome.costs.empty();
    }
  }
  if (!wanted[0] && !wanted[1]) return;
  err << "measuring what this machine can do at best, 3 s left\n" << std::flush;
  CeilingOptions options;
  options.seconds = 0.1;
  for (const bool gpu : {false, true}) {
    if (!wanted[gpu]) continue;
    const auto more = gpu ? MeasureCudaCeilings(options) : MeasureCpuCeilings(options);
    ceilings.insert(ceilings.end(), more.begin(), more.end());
  }
  WriteFileAtomically(path, CeilingsJson(ceilings) + "\n");
}

// The contract's status, wherever a run is: what was written is whole.
void ExitInterrupted(int) {
  _exit(kInterrupted);
}

bool AnyToMeasure(const std::vector<Plan>& plans, const RunOptions& options, std::ostream& log) {
  const std::vector<Decision> decisions = Decide(plans, options, log);
  return std::ranges::any_of(decisions, [](const Decision& decision) { return decision.measure; });
}

// Seconds of what follows the measuring.
double SecondsAfter(const std::vector<Plan>& plans, const RunArguments& a) {
  constexpr double kCeilings = 3;
  const bool timed =
      std::ranges::any_of(plans, [](const Plan& plan) { return plan.experiment.exclusive; });
  const bool ceilings = timed && a.shard.empty() && a.selection.profile != "smoke" &&
                        !fs::exists(a.selection.out + "/ceilings.json");
  return WritingSeconds(plans.size(), a.report) + (ceilings ? kCeilings : 0);
}

// What is to be done, how long it will take, and what else the machine does.
void PrintFirstLine(const RunArguments& a, std::size_t experiments, const Schedule& schedule,
                    double seconds, const Activity& activity, std::ostream& err) {
  err << fmt::format(
      "{} experiment{}, profile {}, device {}, results in {}: {} cells to measure, {} stored; "
      "about {}{} on {} processor{}; ",
      experiments, experiments == 1 ? "" : "s", a.selection.profile, a.selection.device,
      a.selection.out, schedule.todo.size(), schedule.reused, DurationText(seconds),
      a.report ? " with the report" : "", activity.processors, activity.processors == 1 ? "" : "s");
  if (!activity.Busy()) {
    err << "the machine is quiet\n" << std::flush;
  } else {
    err << fmt::format(
               "the machine is busy, so that it may take {:.2f} times as long as on a quiet "
               "one: {}{}\n",
               Pace(activity), activity.Text(), a.wait_quiet.empty() ? " (--wait-quiet waits)" : "")
        << std::flush;
  }
}

RunRecord DescribeRun(const Context& context, const RunArguments& a, const Devices& devices) {
  RunRecord record;
  record.profile = a.selection.profile;
  record.device = devices.cuda ? devices.cuda_class : "cpu";
  record.started = UtcNow();
  record.command = context.command_line;
  if (context.banner) record.banner = context.banner();
  return record;
}

void Add(const RunSummary& summary, RunRecord& record) {
  record.finished = UtcNow();
  record.seconds = summary.seconds;
  record.counts = summary.counts;
  record.reasons = summary.reasons;
  record.timed = summary.timed;
  record.unsteady = summary.unsteady;
}

// What the same command would find to do.
std::string LeftText(const RunSummary& summary, int rounds) {
  if (summary.left > 0) return fmt::format("{} left for the next run", summary.left);
  if (summary.passed_over > 0) {
    return fmt::format("{} not measured yet and passed over", summary.passed_over);
  }
  if (summary.few_rounds == 0) return "none left";
  return fmt::format("{} timed cell{} of fewer than {} rounds", summary.few_rounds,
                     summary.few_rounds == 1 ? "" : "s", rounds);
}

std::string DoneText(const RunSummary& summary, double expected, int rounds) {
  return fmt::format(
      "{} measured, {} stored before, {}{}; {}; took {}, about {} expected{}\n", summary.measured,
      summary.reused,
      summary.remeasured > 0 ? fmt::format("{} times refined, ", summary.remeasured) : "",
      LeftText(summary, rounds), CountsText(summary.counts, summary.reasons),
      DurationText(summary.seconds), DurationText(expected),
      summary.unsteady > 0
          ? fmt::format("; {} of {} timed cells not steady", summary.unsteady, summary.timed)
          : "");
}

// What this run is on, and what others did as it began.
nlohmann::json EnvironmentOf(const RunArguments& a, const Activity& activity) {
  nlohmann::json captured = CaptureEnvironment();
  AddActivity(captured, activity);
  captured["profile"] = a.selection.profile;  // two runs of one second may be of two profiles
  return captured;
}

int Run(const Context& context, const RunArguments& a, std::ostream& out, std::ostream& err) {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, ExitInterrupted);
  CheckFolderToWrite(a.selection.out);
  RunOptions options = MakeOptions(context, a);
  const Devices devices = FindDevices(a.selection.device);
  std::vector<Plan> plans = MakePlans(context, a.selection, devices, err);
  if (plans.empty()) return kNothingToRun;
  if (options.dry_run) {
    if (options.by_group) options.environment = CaptureEnvironment();
    PrintDryRun(plans, options, out);
    return kOk;
  }
  if (options.only_failed && !AnyToMeasure(plans, options, err)) {
    err << "nothing to run: no cell of these experiments has failed in " << options.out << "\n";
    return kNothingToRun;
  }
  if (OfferMissingData(context, plans, err)) plans = MakePlans(context, a.selection, devices, err);
  const Store store(a.selection.out, options.shards > 1 ? LockMode::kNone : LockMode::kExclusive);
  const Activity activity = WatchActivity();
  options.environment = EnvironmentOf(a, activity);
  if (!a.resume_from.empty()) {
    ResumeFrom(a.resume_from, a.selection.out, options.environment, devices.cpu, devices.cuda);
  }
  const std::string environment = JsonText(options.environment, 1);
  WriteFileAtomically(a.selection.out + "/environment.json", environment + "\n");
  WriteOrigin(a.selection.out, environment);
  if (options.shards == 1) {  // a thousand shards would write the plan of a million cells each
    for (Plan& plan : plans) {
      plan.profiles = NamesOfProfiles(plan.experiment, a.selection, devices, false);
      WriteMeta(plan, a.selection.profile, a.selection.out);
    }
  }
  Schedule schedule = MakeSchedule(plans, options, Pace(activity), err);
  const double after = SecondsAfter(plans, a);
  RunRecord record = DescribeRun(context, a, devices);
  record.expected_seconds = SecondsLeft(schedule, options) + after;
  PrintFirstLine(a, plans.size(), schedule, record.expected_seconds, activity, err);
  WriteRun(a.selection.out, record);  // for a run that is interrupted; counts come at its end

  const RunSummary summary = Execute(plans, std::move(schedule), options, store,
                                     EnvironmentHash(environment), after, err, context.terminal);
  if (summary.interrupted) {
    err << fmt::format(
        "interrupted; {} measured and kept in {}: run the same command again to go on\n",
        summary.measured, options.out);
    return kInterrupted;
  }
  if (options.shards == 1) MeasureCeilings(plans, a.selection, err);
  Add(summary, record);
  WriteRun(a.selection.out, record);
  out << DoneText(summary, record.expected_seconds, options.rounds);
  int code = ExitFor(summary.counts);
  if (options.shards == 1) {
    const Scoreboard board = WriteResults(a.selection.out);
    std::string page;
    const int drawn = a.report ? DrawReport(context, a.selection.out, page, err) : kOk;
    if (code == kOk) code = drawn;
    out << SummaryText(board, a.selection.out, page);
  }
  const bool any = std::ranges::any_of(plans, [](const Plan& plan) { return !plan.cells.empty(); });
  return any ? code : kNothingToRun;
}

// The words that were typed after `run`, but for `--submit` and `--dry-run`: "--name=value", and
// experiments.
std::vector<std::string> TypedWords(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    if (name == "--submit" || name == "--dry-run") continue;
    for (const std::string& value : option->results()) {
      words.push_back(option->get_positional() ? value : name + "=" + value);
    }
  }
  return words;
}

int SubmitRun(const Context& context, const RunArguments& a, std::ostream& out, std::ostream& err) {
  const std::string cluster = a.submit.substr(0, a.submit.find(' '));
  if (cluster != "slurm" || !a.shard.empty()) {
    throw ConfigError({"--submit " + a.submit, 0, 0},
                      cluster == "slurm" ? "it shares the cells out itself; leave --shard away"
                                         : "expected slurm, and options of sbatch after it");
  }
  CheckFolderToWrite(a.selection.out);
  MakeOptions(context, a);  // what is wrong with the words is said now, not by every task
  Devices devices;
  devices.cuda = true;  // of the nodes
  if (MakePlans(context, a.selection, devices, err).empty()) return kNothingToRun;
  const SlurmRun run{context.program, a.typed, a.selection.out, a.submit.substr(cluster.size()),
                     context.terminal};
  if (!a.options.dry_run) return RunOnSlurm(run, out, err);
  const SlurmCommands commands = MakeSlurmCommands(run);
  out << commands.array << "\n" << commands.collect << "ARRAY\n";
  return kOk;
}

void DeclareRun(CLI::App& verb, RunArguments& run) {
  run.verb = &verb;
  verb.add_option("ids", run.selection.globs,
                  "experiments or globs: quantiles/table2 'quantiles/*'");
  AddSelection(verb, run.selection);
  verb.add_option_function<std::string>(
          "--only", [&run](const std::string&) { run.options.only_failed = true; },
          "failed: measure again only what failed")
      ->check(CLI::IsMember({"failed"}));
  verb.add_flag("--force", run.options.force, "measure again what is stored");
  verb.add_option("--cell", run.options.cells,
                  "measure this cell alone, by its key or the first digits")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* dry =
      verb.add_flag("--dry-run", run.options.dry_run, "print every cell, stored or not, and stop");
  verb.add_flag("--by-group", run.options.by_group,
                "timed cells that a table compares in one stretch, on one card: a group that was "
                "begun elsewhere begins anew, and none begins that --budget is too short for");
  verb.add_option("--resume-from", run.resume_from,
                  "go on with a recording (its archive or folder) on a machine of the same card "
                  "and commit, --by-group")
      ->excludes(dry);
  verb.add_option("--shard", run.shard,
                  "i/n: this process takes every n-th cell; auto: as Slurm or MPI numbers it");
  verb.add_option(
      "--budget", run.budget,
      "10m, 90s: short cells first, each once; then again where it is least sure; a cell that "
      "still runs a tenth of it later is ended");
  verb.add_flag(
      "--wait-quiet{10m}", run.wait_quiet,
      "timed cells wait until the machine is quiet, 10 minutes in all at most, or as long "
      "as is said: --wait-quiet=1h");
  verb.add_flag("--report", run.report, "draw the report at the end (retable report)");
  verb.add_option("--rounds", run.options.rounds,
                  "timed cells in so many rounds, there and back, so that contenders take turns")
      ->check(CLI::Range(1, 100));
  verb.add_option("--jobs", run.options.jobs,
                  "workers side by side for untimed cells (default: cores)")
      ->check(CLI::Range(1, 4096));
  verb.add_option("--submit", run.submit,
                  "slurm: as an array of tasks of a Slurm cluster, with sbatch's options after it: "
                  "--submit 'slurm --array=1-8 --partition=gpu'");
}

int RunOrSubmit(const Context& context, RunArguments& a, std::ostream& out, std::ostream& err) {
  a.typed = TypedWords(*a.verb);
  return a.submit.empty() ? Run(context, a, out, err) : SubmitRun(context, a, out, err);
}

}  // namespace

Verb MakeRunVerb(const Context& context) {
  return MakeVerb<RunArguments>(context, "run",
                                "Measure experiments; what is stored is not repeated", DeclareRun,
                                RunOrSubmit);
}

}  // namespace retable::harness
