#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <ostream>

#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/cli/selection.hpp"
#include "harness/machine/device.hpp"
#include "harness/machine/environment.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/report/missing_cell.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/report/results.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/runner.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

struct RunArguments {
  Selection selection;
  bool only_failed = false, force = false, dry_run = false;
  std::string shard;   //!< "i/n", or "auto": from the environment of Slurm or MPI
  std::string budget;  //!< "10m"
  int rounds = 1;
  int jobs = 0;
};

RunOptions MakeOptions(const Context& context, const RunArguments& a) {
  RunOptions options;
  options.out = a.selection.out;
  options.profile = a.selection.profile;
  options.only_failed = a.only_failed;
  options.force = a.force;
  options.dry_run = a.dry_run;
  options.jobs = a.jobs;
  options.rounds = a.rounds;
  options.program = context.program;
  if (!a.budget.empty()) options.budget_seconds = ParseDuration(a.budget);
  const Shard shard = ParseShard(a.shard);
  options.shard = shard.index - 1;
  options.shards = shard.count;
  return options;
}

void PrintDryRun(const std::vector<Plan>& plans, const RunOptions& options, std::ostream& out) {
  int hits = 0, misses = 0, not_run = 0;
  for (const Decision& d : Decide(plans, options, out)) {
    const CellConfig& c = d.cell->config;
    const char* what = d.cell->not_run ? "----" : (d.measure ? "miss" : "hit ");
    ++(d.cell->not_run ? not_run : (d.measure ? misses : hits));
    out << fmt::format("{} {} {:24} {:34} {:28} {}\n", what, d.cell->key.substr(0, 12),
                       c.experiment, c.label, c.dataset, d.why);
  }
  out << fmt::format("{} stored, {} to measure, {} not run\n", hits, misses, not_run);
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

std::string CountsText(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [status, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, status);
  }
  return text;
}

void PrintProblems(const std::vector<std::string>& problems, std::ostream& out) {
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < problems.size() && i < kShown; ++i) {
    out << "  " << problems[i] << "\n";
  }
  if (problems.size() > kShown) {
    out << fmt::format("  and {} more: build/retable check\n", problems.size() - kShown);
  }
}

// The names that every profile has, so that what is missing can be explained. A profile whose
// settings are wrong is found when it is asked for.
void NameProfiles(std::vector<Plan>& plans, const Selection& selection, const Devices& devices) {
  for (Plan& plan : plans) {
    plan.profiles.push_back(NamesOf(plan.experiment, selection.profile, devices));
    for (const char* profile : {"smoke", "quick", "paper"}) {
      if (selection.profile == profile) continue;
      try {
        const Experiment other =
            WithOverrides(plan.experiment, {profile, selection.machine_file, {}, 0});
        plan.profiles.push_back(NamesOf(other, profile, devices));
      } catch (const ConfigError&) {
      }
    }
  }
}

// What the machine can do at best, for the roofline fractions of the timed cells that declare their
// work. Measured once a folder; the smoke profile has no time for it.
void MeasureCeilings(const std::vector<Plan>& plans, const Selection& selection,
                     std::ostream& err) {
  const std::string path = selection.out + "/ceilings.json";
  if (selection.profile == "smoke" || fs::exists(path)) return;
  bool any = false, cuda = false;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (!cell.exclusive || cell.not_run) continue;
      const auto record = LoadRecord(selection.out, cell.key);
      if (!record || record->outcome.costs.empty()) continue;
      any = true;
      cuda = cuda || cell.config.device == "cuda";
    }
  }
  if (!any) return;
  err << "measuring what this machine can do at best\n" << std::flush;
  CeilingOptions options;
  options.seconds = 0.1;
  std::vector<Ceiling> ceilings = MeasureCpuCeilings(options);
  if (cuda) {
    const auto more = MeasureCudaCeilings(options);
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
  return std::any_of(decisions.begin(), decisions.end(),
                     [](const Decision& decision) { return decision.measure; });
}

int Run(const Context& context, const RunArguments& a, std::ostream& out, std::ostream& err) {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, ExitInterrupted);
  CheckFolderToWrite(a.selection.out);
  const RunOptions options = MakeOptions(context, a);
  const Devices devices = FindDevices(a.selection.device);
  std::vector<Plan> plans = MakePlans(context, a.selection, devices, err);
  if (plans.empty()) return kNothingToRun;
  if (options.dry_run) {
    PrintDryRun(plans, options, out);
    return kOk;
  }
  if (options.only_failed && !AnyToMeasure(plans, options, err)) {
    err << "nothing to run: no cell of these experiments has failed in " << options.out << "\n";
    return kNothingToRun;
  }
  NameProfiles(plans, a.selection, devices);
  double expected = 0;
  for (const Plan& plan : plans) {
    const auto found = plan.experiment.expected.find(a.selection.profile);
    if (found != plan.experiment.expected.end()) expected += found->second;
  }
  err << fmt::format(
      "{} experiment{}, profile {}, device {}, results in {}; expected about {} on "
      "two cores if nothing is stored\n",
      plans.size(), plans.size() == 1 ? "" : "s", a.selection.profile, a.selection.device,
      a.selection.out, DurationText(expected));
  const Store store(a.selection.out, options.shards > 1 ? LockMode::kNone : LockMode::kExclusive);
  const std::string environment = JsonText(CaptureEnvironment(), 1);
  WriteFileAtomically(a.selection.out + "/environment.json", environment + "\n");
  WriteOrigin(a.selection.out, a.selection.profile, environment);
  for (const Plan& plan : plans) WriteMeta(plan, a.selection.profile, a.selection.out);

  RunRecord record;
  record.profile = a.selection.profile;
  record.device = devices.cuda ? devices.cuda_class : "cpu";
  record.started = UtcNow();
  record.command = context.command_line;
  if (context.banner) record.banner = context.banner();
  const RunSummary summary =
      Execute(plans, options, store, EnvironmentHash(environment), err, context.terminal);
  if (summary.interrupted) {
    err << fmt::format(
        "interrupted; {} measured and kept in {}: run the same command again to go on\n",
        summary.measured, options.out);
    return kInterrupted;
  }
  MeasureCeilings(plans, a.selection, err);
  record.finished = UtcNow();
  record.seconds = summary.seconds;
  record.counts = summary.counts;
  WriteRun(a.selection.out, record);
  if (options.shards == 1) WriteResults(a.selection.out, context.root);

  out << fmt::format(
      "{} measured, {} stored before, {}{}; {}\n", summary.measured, summary.reused,
      summary.remeasured > 0 ? fmt::format("{} times refined, ", summary.remeasured) : "",
      summary.left > 0 ? fmt::format("{} left for the next run", summary.left)
                       : std::string("none left"),
      CountsText(summary.counts));
  PrintProblems(summary.problems, out);
  int cells = 0;
  for (const Plan& plan : plans) cells += static_cast<int>(plan.cells.size());
  if (cells == 0) return kNothingToRun;
  return ExitFor(summary.counts);
}

VerbBody DeclareRun(const Context& context, CLI::App& verb) {
  const auto arguments = std::make_shared<RunArguments>();
  RunArguments& run = *arguments;
  verb.add_option("ids", run.selection.globs,
                  "experiments or globs: quantiles/table2 'quantiles/*'");
  AddSelection(verb, run.selection);
  verb.add_option_function<std::string>(
          "--only", [&run](const std::string&) { run.only_failed = true; },
          "failed: measure again only what failed")
      ->check(CLI::IsMember({"failed"}));
  verb.add_flag("--force", run.force, "measure again what is stored");
  verb.add_flag("--dry-run", run.dry_run, "print every cell, stored or not, and stop");
  verb.add_option("--shard", run.shard,
                  "i/n: this process takes every n-th cell; auto: as Slurm or MPI numbers it");
  verb.add_option("--budget", run.budget,
                  "10m, 90s: short cells first, each once; then again where it is least sure");
  verb.add_option("--rounds", run.rounds,
                  "timed cells in so many rounds, there and back, so that contenders take turns")
      ->check(CLI::Range(1, 100));
  verb.add_option("--jobs", run.jobs, "workers side by side for untimed cells (default: cores)")
      ->check(CLI::Range(1, 4096));
  return [context, arguments](std::ostream& out, std::ostream& err) {
    return Run(context, *arguments, out, err);
  };
}

}  // namespace

Verb MakeRunVerb(const Context& context) {
  return MakeVerb(context, "run", "Measure experiments; what is stored is not repeated",
                  [context](CLI::App& verb) { return DeclareRun(context, verb); });
}

}  // namespace retable::harness
