#include "harness/commands.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/glob.hpp"
#include "base/sha256.hpp"
#include "harness/absence.hpp"
#include "harness/cell_json.hpp"
#include "harness/device.hpp"
#include "harness/environment.hpp"
#include "harness/fields.hpp"
#include "harness/machine.hpp"
#include "harness/paired_run.hpp"
#include "harness/progress.hpp"
#include "harness/results.hpp"
#include "harness/runner.hpp"
#include "harness/share.hpp"
#include "harness/shell.hpp"
#include "harness/statistics.hpp"
#include "harness/suggest.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

Devices FindDevices(const std::string& wanted) {
  Devices devices;
  devices.cuda = CudaDevicePresent(&devices.cuda_reason);
  if (wanted == "cuda" && !devices.cuda) {
    throw ConfigError({"--device cuda", 0, 0},
                      devices.cuda_reason + "; use --device auto to run the CPU rows");
  }
  if (devices.cuda) devices.cuda_class = DeviceClass();
  if (wanted == "cpu") {
    devices.cuda = false;
    devices.cuda_reason = "GPU rows were not asked for (--device cpu)";
  }
  devices.cpu = wanted != "cuda";
  return devices;
}

// A build may leave families out (RETABLE_ONLY); a glob then passes over their experiments.
bool FamilyIsBuilt(const std::string& family) {
  return std::any_of(Protocols().begin(), Protocols().end(),
                     [&](const auto& protocol) { return protocol->family() == family; });
}

// The experiments that match any of the globs, in order. @throws ConfigError for a glob that
// matches nothing.
std::vector<Experiment> Select(std::vector<Experiment> all, const std::vector<std::string>& globs) {
  std::vector<std::string> ids;
  for (const Experiment& e : all) ids.push_back(e.id);
  for (const std::string& glob : globs) {
    const bool any =
        std::any_of(ids.begin(), ids.end(), [&](const auto& id) { return GlobMatches(glob, id); });
    if (!any) {
      throw ConfigError({"experiments", 0, 0}, "no experiment matches \"" + glob + "\"" +
                                                   DidYouMean(glob, ids) +
                                                   "; see `build/retable list`");
    }
  }
  std::erase_if(all, [&](const Experiment& e) {
    const bool by_name = std::find(globs.begin(), globs.end(), e.id) != globs.end();
    return !by_name && (!FamilyIsBuilt(e.family) ||
                        std::none_of(globs.begin(), globs.end(),
                                     [&](const auto& glob) { return GlobMatches(glob, e.id); }));
  });
  return all;
}

RunOptions MakeOptions(const Context& context, const RunArguments& arguments) {
  RunOptions options;
  options.out = arguments.out;
  options.profile = arguments.profile;
  options.only_failed = arguments.only_failed;
  options.force = arguments.force;
  options.dry_run = arguments.dry_run;
  options.jobs = arguments.jobs;
  options.rounds = arguments.rounds;
  options.program = context.program;
  if (!arguments.budget.empty()) options.budget_seconds = ParseDuration(arguments.budget);
  const Shard shard = ParseShard(arguments.shard);
  options.shard = shard.index - 1;
  options.shards = shard.count;
  return options;
}

void PrintDryRun(const std::vector<Plan>& plans, const RunOptions& options, std::ostream& out) {
  int hits = 0, misses = 0, not_run = 0;
  for (const Decision& d : Decide(plans, options, nullptr, out)) {
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

std::vector<Plan> MakePlans(const Context& context, const RunArguments& arguments,
                            const Devices& devices, std::ostream& err) {
  const Overrides overrides{arguments.profile, arguments.machine_file, arguments.assignments,
                            arguments.repeats};
  std::vector<Plan> plans;
  for (const Experiment& experiment :
       Select(LoadExperiments(context.root, overrides), arguments.globs)) {
    if (context.terminal) err << "\r\033[Kplanning " << experiment.id << std::flush;
    plans.push_back(MakePlan(experiment, devices));
  }
  if (context.terminal) err << "\r\033[K" << std::flush;
  if (plans.empty()) err << "nothing to run: name experiments, such as 'quantiles/*'\n";
  return plans;
}

// The names that every profile has, so that what is missing can be explained. A profile whose
// settings are wrong is found when it is asked for.
void NameProfiles(std::vector<Plan>& plans, const Context& context, const RunArguments& arguments,
                  const Devices& devices) {
  std::map<std::string, Plan*> by_id;
  for (Plan& plan : plans) {
    by_id[plan.experiment.id] = &plan;
    plan.profiles.push_back(NamesOf(plan.experiment, arguments.profile, devices));
  }
  for (const char* profile : {"smoke", "quick", "paper"}) {
    if (arguments.profile == profile) continue;
    for (const Experiment& e :
         LoadExperiments(context.root, {profile, arguments.machine_file, {}, 0})) {
      const auto plan = by_id.find(e.id);
      if (plan == by_id.end()) continue;
      try {
        plan->second->profiles.push_back(NamesOf(e, profile, devices));
      } catch (const ConfigError&) {
      }
    }
  }
}

// What the machine can do at best, for the shares of the timed cells that declare their work.
// Measured once a folder; the smoke profile has no time for it.
void MeasureCeilings(const std::vector<Plan>& plans, const RunArguments& arguments,
                     std::ostream& err) {
  const std::string path = arguments.out + "/ceilings.json";
  if (arguments.profile == "smoke" || fs::exists(path)) return;
  bool any = false, cuda = false;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (!cell.exclusive || cell.not_run) continue;
      const auto record = LoadRecord(arguments.out, cell.key);
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

int Run(const Context& context, const RunArguments& arguments, std::ostream& out,
        std::ostream& err) {
  const RunOptions options = MakeOptions(context, arguments);
  const Devices devices = FindDevices(arguments.device);
  std::vector<Plan> plans = MakePlans(context, arguments, devices, err);
  if (plans.empty()) return kNothingToRun;
  if (options.dry_run) {
    PrintDryRun(plans, options, out);
    return kOk;
  }
  NameProfiles(plans, context, arguments, devices);
  double expected = 0;
  for (const Plan& plan : plans) {
    const auto found = plan.experiment.expected.find(arguments.profile);
    if (found != plan.experiment.expected.end()) expected += found->second;
  }
  err << fmt::format(
      "{} experiment{}, profile {}, device {}, results in {}; expected about {} on "
      "two cores if nothing is stored\n",
      plans.size(), plans.size() == 1 ? "" : "s", arguments.profile, arguments.device,
      arguments.out, DurationText(expected));
  const Store store(arguments.out, options.shards > 1 ? LockMode::kNone : LockMode::kExclusive);
  const std::string environment = CaptureEnvironment().dump(1);
  WriteFileAtomically(arguments.out + "/environment.json", environment + "\n");
  for (const Plan& plan : plans) WriteMeta(plan, arguments.profile, arguments.out);

  RunRecord record;
  record.profile = arguments.profile;
  record.device = devices.cuda ? devices.cuda_class : "cpu";
  record.started = UtcNow();
  record.command = arguments.command_line;
  if (context.banner) record.banner = context.banner();
  const RunSummary summary =
      Execute(plans, options, store, Sha256(environment).substr(0, 16), err, context.terminal);
  MeasureCeilings(plans, arguments, err);
  record.finished = UtcNow();
  record.seconds = summary.seconds;
  record.counts = summary.counts;
  WriteRun(arguments.out, record);
  if (options.shards == 1) WriteResults(arguments.out);

  out << fmt::format("{} measured, {} stored before, {}{}; {}\n", summary.measured, summary.reused,
                     summary.refined > 0 ? fmt::format("{} times refined, ", summary.refined) : "",
                     summary.left > 0 ? fmt::format("{} left for the next run", summary.left)
                                      : std::string("none left"),
                     CountsText(summary.counts));
  PrintProblems(summary.problems, out);
  int cells = 0;
  for (const Plan& plan : plans) cells += static_cast<int>(plan.cells.size());
  if (cells == 0) return kNothingToRun;
  return ExitFor(summary.counts);
}

int Guarded(const std::function<int()>& verb, std::ostream& err) {
  try {
    return verb();
  } catch (const ConfigError& problem) {
    for (const auto& line : problem.lines()) err << line << "\n";
  } catch (const StoreError& problem) {
    err << problem.what() << "\n";
  }
  return kUsage;
}

std::string PythonProgram() {
  if (const char* python = std::getenv("RETABLE_PYTHON")) return python;
  // The distribution's interpreter has the distribution's matplotlib.
  return fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

struct ShardVariables {
  const char* index;
  const char* count;
  int first;  // the number of the first part
};

// What schedulers tell their processes. An array's numbers may start anywhere.
constexpr ShardVariables kShardVariables[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
    {"PMI_RANK", "PMI_SIZE", 0},
    {"PMIX_RANK", "PMIX_SIZE", 0},
    {"SLURM_PROCID", "SLURM_NTASKS", 0},
};

int IntegerFrom(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0') {
    throw ConfigError({"--shard auto", 0, 0},
                      fmt::format("{} is \"{}\", not a number", variable, text));
  }
  return static_cast<int>(value);
}

Shard ShardOfEnvironment() {
  for (const ShardVariables& names : kShardVariables) {
    if (std::getenv(names.index) == nullptr || std::getenv(names.count) == nullptr) continue;
    const int first = std::string(names.index) == "SLURM_ARRAY_TASK_ID"
                          ? IntegerFrom("SLURM_ARRAY_TASK_MIN", 0)
                          : names.first;
    const Shard shard{IntegerFrom(names.index, 0) - first + 1, IntegerFrom(names.count, 0)};
    if (shard.count >= 1 && shard.index >= 1 && shard.index <= shard.count) return shard;
    throw ConfigError(
        {"--shard auto", 0, 0},
        fmt::format("{} = {} and {} = {} name no part (arrays with gaps: give i/n)", names.index,
                    std::getenv(names.index), names.count, std::getenv(names.count)));
  }
  throw ConfigError({"--shard auto", 0, 0},
                    "neither Slurm nor MPI started this process; give i/n, such as 2/4");
}

}  // namespace

Shard ParseShard(const std::string& text) {
  if (text.empty()) return {};
  if (text == "auto") return ShardOfEnvironment();
  Shard shard;
  char slash = 0;
  std::istringstream stream(text);
  if (!(stream >> shard.index >> slash >> shard.count) || slash != '/' || shard.count < 1 ||
      shard.index < 1 || shard.index > shard.count || stream.peek() != EOF) {
    throw ConfigError({"--shard " + text, 0, 0},
                      "expected i/n with 1 <= i <= n, such as 2/4, or auto");
  }
  return shard;
}

double ParseDuration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end ? end : "";
  const double scale = unit == "s" || unit.empty() ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(number > 0)) {
    throw ConfigError({"--budget " + text, 0, 0}, "expected a time such as 90s, 10m or 1.5h");
  }
  return number * scale;
}

int ListCommand(const Context& context, bool json, bool fields, bool protocols, std::ostream& out) {
  if (fields) {
    WriteFieldTable(out, ExperimentFields());
    return kOk;
  }
  if (protocols) {
    for (const auto& protocol : Protocols()) {
      out << fmt::format("{}: {}\n", protocol->name(), protocol->summary());
      for (const auto& info : protocol->algorithms()) {
        out << fmt::format("  {:22} {:10} {}\n", info.name, fmt::join(info.devices, ","),
                           info.summary);
      }
    }
    return kOk;
  }
  const auto experiments = LoadExperiments(context.root, {});
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Experiment& e : experiments) {
      all.push_back({{"id", e.id},
                     {"title", e.title},
                     {"question", e.question},
                     {"citation", e.citation},
                     {"where", e.where},
                     {"protocol", e.protocol},
                     {"expected_seconds", e.expected},
                     {"claims", e.claims.size()},
                     {"published", !e.paper_file.empty()}});
    }
    out << all.dump(1) << "\n";
    return kOk;
  }
  out << fmt::format("{:24} {:>13} {:>13} {:>13}  {}\n", "experiment", "smoke", "quick", "paper",
                     "title [where]");
  for (const Experiment& e : experiments) {
    const auto time = [&](const char* profile) {
      const auto found = e.expected.find(profile);
      return found == e.expected.end() ? std::string("?") : DurationText(found->second);
    };
    out << fmt::format("{:24} {:>13} {:>13} {:>13}  {}{}\n", e.id, time("smoke"), time("quick"),
                       time("paper"), e.title, e.where.empty() ? "" : " [" + e.where + "]");
  }
  return kOk;
}

int RunCommand(const Context& context, const RunArguments& arguments, std::ostream& out,
               std::ostream& err) {
  return Guarded([&] { return Run(context, arguments, out, err); }, err);
}

namespace {

std::vector<std::string> FamiliesOf(const std::vector<Plan>& plans) {
  std::set<std::string> families;
  for (const Plan& plan : plans) {
    families.insert(plan.experiment.family);
    // Shapley values are played on explained trees.
    if (plan.experiment.family == "shapley") families.insert("treeshap");
  }
  return {families.begin(), families.end()};
}

int Paired(const Context& context, const RunArguments& arguments, const PairedArguments& paired,
           std::ostream& out, std::ostream& err) {
  const std::vector<Plan> plans = MakePlans(context, arguments, FindDevices(arguments.device), err);
  if (plans.empty()) return kNothingToRun;
  const Noise noise = NoiseOfFolder(arguments.out);
  PairedRunOptions options;
  options.old_program = paired.old_side;
  options.new_program = paired.new_side;
  if (paired.commits) {
    const CommitBuild build{FamiliesOf(plans), RunsOnGpu(plans)};
    options.old_program = BuildCommit(context.root, paired.old_side, build, context.program, err);
    options.new_program = BuildCommit(context.root, paired.new_side, build, context.program, err);
  }
  for (const std::string& program : {options.old_program, options.new_program}) {
    if (!fs::exists(program)) {
      throw ConfigError({"compare --programs", 0, 0}, program + " does not exist");
    }
  }
  options.max_blocks = paired.blocks;
  options.min_blocks = std::min(options.min_blocks, paired.blocks);
  options.rule = noise.PairedRule();
  const PairedRun run = RunPaired(plans, options, err);
  out << "A " << paired.old_side << "\nB " << paired.new_side
      << "\nenvironment: the same, in turns (A B B A)\n"
      << NoiseText(noise) << '\n';
  PrintComparison(run.comparison, out, true);
  if (run.comparison.timed.empty() && run.comparison.worsened.empty()) {
    out << "no timed cell ran under both programs\n";
    return kNothingToRun;
  }
  return ExitOf(run.comparison, paired.strict);
}

int MeasureNoiseFloor(const Context& context, const RunArguments& arguments, int blocks,
                      std::ostream& out, std::ostream& err) {
  const std::vector<Plan> plans = MakePlans(context, arguments, FindDevices(arguments.device), err);
  if (plans.empty()) return kNothingToRun;
  PairedRunOptions options;
  options.old_program = options.new_program = context.program;
  options.min_blocks = options.max_blocks = blocks;
  const PairedRun run = RunPaired(plans, options, err);
  if (run.separate.empty()) {
    err << "no timed cell ran; nothing is known of the noise. Name experiments that time "
           "something, such as shuffle/beyond-cpu\n";
    return kNothingToRun;
  }
  Noise noise = MeasureNoise(run.separate, run.ratios);
  noise.measured = UtcNow();
  WriteFileAtomically(arguments.out + "/noise.json", NoiseJson(noise));
  out << NoiseText(noise) << "; in turns " << fmt::format("{:.1f} %", 100 * noise.paired) << "\n"
      << arguments.out << "/noise.json\n";
  return kOk;
}

}  // namespace

int PairedCommand(const Context& context, const RunArguments& arguments,
                  const PairedArguments& paired, std::ostream& out, std::ostream& err) {
  return Guarded([&] { return Paired(context, arguments, paired, out, err); }, err);
}

int NoiseCommand(const Context& context, const RunArguments& arguments, int blocks,
                 std::ostream& out, std::ostream& err) {
  return Guarded([&] { return MeasureNoiseFloor(context, arguments, blocks, out, err); }, err);
}

int CheckCommand(const std::string& folder, bool strict, std::ostream& out) {
  const Scoreboard board = WriteResults(folder);
  out << ScoreboardText(board);
  const bool failed = !board.failed_claims.empty() || !board.mismatches.empty();
  return strict && failed ? kVerdictFailed : kOk;
}

int ReportCommand(const Context& context, const std::string& folder, std::ostream& out,
                  std::ostream& err) {
  const Scoreboard board = WriteResults(folder);
  const std::string command =
      fmt::format("{} {} --out {} --recorded {}", ShellWord(PythonProgram()),
                  ShellWord(context.root + "/plots/report.py"), ShellWord(folder),
                  ShellWord(context.root + "/results/recorded"));
  out << "drawing the figures and the report\n" << std::flush;
  const int status = std::system(command.c_str());
  if (WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + SIGINT) {
    err << "interrupted; the tables in " << folder
        << " are complete, run the same command again for the figures\n";
    return kUsage;
  }
  if (status != 0) {
    err << "the figures could not be drawn (exit code " << WEXITSTATUS(status)
        << "); they need Python 3 with matplotlib and jinja2: apt-get install python3-matplotlib "
           "python3-jinja2. The tables in "
        << folder << " are complete.\n";
    return kUsage;
  }
  out << ScoreboardText(board);
  out << "report: " << fs::absolute(folder + "/report.html").string() << "\n";
  return kOk;
}

int ExplainCommand(const std::string& folder, const std::string& key_prefix, std::ostream& out,
                   std::ostream& err) {
  std::vector<std::string> matches;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder + "/cells", error)) {
    const std::string name = file.path().filename().string();
    const bool is_cell = name.size() == 64 + 5 && name.ends_with(".json");
    if (is_cell && name.starts_with(key_prefix)) matches.push_back(name.substr(0, 64));
  }
  if (matches.empty()) {
    err << "no cell " << key_prefix << " in " << folder
        << "/cells; keys stand in the tidy CSVs and in the report\n";
    return kUsage;
  }
  if (matches.size() > 1) {
    std::sort(matches.begin(), matches.end());
    err << matches.size() << " cells begin with \"" << key_prefix << "\": give more digits";
    for (std::size_t i = 0; i < std::min<std::size_t>(matches.size(), 4); ++i) {
      err << (i == 0 ? ", such as " : ", ") << matches[i].substr(0, 12);
    }
    err << "\n";
    return kUsage;
  }
  const auto record = LoadRecord(folder, matches.front());
  if (!record) {
    err << folder << "/cells/" << matches.front() << ".json cannot be read\n";
    return kUsage;
  }
  const CellConfig& c = record->config;
  out << fmt::format("cell        {}\nwhat        {} on {} ({}), {}\n", record->key, c.label,
                     c.dataset, c.device, c.experiment);
  out << fmt::format("algorithm   {} {}\n", c.algorithm, ToJson(c.parameters).dump());
  out << fmt::format("axes        {}\nsettings    {}\nseed        {}, {} repeats\n",
                     ToJson(c.axes).dump(), ToJson(c.settings).dump(), c.seed, c.repeats);
  out << fmt::format("data        {}\n", c.dataset_sha256);
  out << fmt::format("status      {} {}\n", record->outcome.status, record->outcome.reason);
  const Verification& v = record->outcome.verification;
  if (v.done) {
    out << fmt::format("verified    {} = {} (threshold {}) against {}: {}\n", v.metric, v.value,
                       v.threshold, v.reference, v.ok ? "right" : "WRONG");
  }
  out << fmt::format("took        {:.3f} s, peak {:.0f} MiB, started {}\n", record->seconds,
                     record->peak_mib, record->started);
  out << fmt::format("environment {} (environment.json)\n", record->environment);
  for (const auto& [name, value] : record->outcome.facts) {
    out << fmt::format("  {} = {}\n", name, ValueText(value));
  }
  const auto ceilings = CeilingsFromJson(ReadText(folder + "/ceilings.json"));
  for (const Cost& cost : record->outcome.costs) {
    out << fmt::format("must do     {:.4g} ({})\n", cost.amount, cost.ceiling);
  }
  if (const auto share = ShareOfCeiling(record->outcome, c.device, ceilings)) {
    out << fmt::format("reaches     {:.1f} % of the ceiling {}\n", 100 * share->value,
                       share->ceiling);
  }
  for (const Metric& m : record->outcome.metrics) {
    const Summary s = Summarise(m.samples, 1);
    out << fmt::format("metric      {} [{}]: n = {}, median {} [{}, {}], mean {}, {} failed\n",
                       m.name, m.unit, s.n, s.median, s.ci_low, s.ci_high, s.mean, s.failures);
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
      out << fmt::format("  {:>4} {} {}{}\n", i, m.samples[i], i < m.items.size() ? m.items[i] : "",
                         i < m.sm_mhz.size() ? fmt::format(" at {:.0f} MHz", m.sm_mhz[i]) : "");
    }
  }
  out << "repeat      " << record->command << "\n";
  return kOk;
}

}  // namespace retable::harness
