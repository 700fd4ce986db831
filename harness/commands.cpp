#include "harness/commands.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/cell_json.hpp"
#include "harness/device.hpp"
#include "harness/environment.hpp"
#include "harness/fields.hpp"
#include "harness/progress.hpp"
#include "harness/results.hpp"
#include "harness/runner.hpp"
#include "harness/sha256.hpp"
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
        std::any_of(ids.begin(), ids.end(), [&](const auto& id) { return GlobMatch(glob, id); });
    if (!any) {
      throw ConfigError({"run", 0, 0}, "no experiment matches \"" + glob + "\"" +
                                           DidYouMean(glob, ids) + "; see `retable list`");
    }
  }
  std::erase_if(all, [&](const Experiment& e) {
    const bool by_name = std::find(globs.begin(), globs.end(), e.id) != globs.end();
    return !by_name && (!FamilyIsBuilt(e.family) ||
                        std::none_of(globs.begin(), globs.end(),
                                     [&](const auto& glob) { return GlobMatch(glob, e.id); }));
  });
  return all;
}

void ParseShard(const std::string& text, RunOptions& options) {
  if (text.empty()) return;
  int index = 0, count = 0;
  char slash = 0;
  std::istringstream stream(text);
  if (!(stream >> index >> slash >> count) || slash != '/' || count < 1 || index < 1 ||
      index > count || stream.peek() != EOF) {
    throw ConfigError({"--shard " + text, 0, 0}, "expected i/n with 1 <= i <= n, such as 2/4");
  }
  options.shard = index - 1;
  options.shards = count;
}

RunOptions MakeOptions(const Context& context, const RunArguments& arguments) {
  RunOptions options;
  options.out = arguments.out;
  options.profile = arguments.profile;
  options.only_failed = arguments.only_failed;
  options.force = arguments.force;
  options.dry_run = arguments.dry_run;
  options.jobs = arguments.jobs;
  options.program = context.program;
  if (!arguments.budget.empty()) options.budget_seconds = ParseDuration(arguments.budget);
  ParseShard(arguments.shard, options);
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
    out << fmt::format("  and {} more: retable check\n", problems.size() - kShown);
  }
}

int Run(const Context& context, const RunArguments& arguments, std::ostream& out,
        std::ostream& err) {
  const RunOptions options = MakeOptions(context, arguments);
  const Overrides overrides{arguments.profile, arguments.machine_file, arguments.assignments,
                            arguments.repeats};
  const Devices devices = FindDevices(arguments.device);
  const auto experiments = Select(LoadExperiments(context.root, overrides), arguments.globs);
  if (experiments.empty()) {
    err << "nothing to run: name experiments, such as 'quantiles/*'\n";
    return kNothingToRun;
  }
  std::vector<Plan> plans;
  for (const Experiment& experiment : experiments) {
    if (context.terminal) err << "\r\033[Kplanning " << experiment.id << std::flush;
    plans.push_back(MakePlan(experiment, devices));
  }
  if (context.terminal) err << "\r\033[K" << std::flush;
  if (options.dry_run) {
    PrintDryRun(plans, options, out);
    return kOk;
  }
  double expected = 0;
  for (const Experiment& e : experiments) {
    const auto found = e.expected.find(arguments.profile);
    if (found != e.expected.end()) expected += found->second;
  }
  err << fmt::format(
      "{} experiments, profile {}, device {}, results in {}; expected about {} on "
      "two cores if nothing is stored\n",
      experiments.size(), arguments.profile, arguments.device, arguments.out,
      DurationText(expected));
  const Store store(arguments.out, options.shards > 1 ? LockMode::kShared : LockMode::kExclusive);
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
      Execute(plans, options, store, Sha256Hex(environment).substr(0, 16), err, context.terminal);
  record.finished = UtcNow();
  record.seconds = summary.seconds;
  record.counts = summary.counts;
  WriteRun(arguments.out, record);
  if (options.shards == 1) WriteResults(arguments.out);

  out << fmt::format("{} measured, {} stored before, {}; {}\n", summary.measured, summary.reused,
                     summary.left > 0 ? fmt::format("{} left for the next run", summary.left)
                                      : std::string("none left"),
                     CountsText(summary.counts));
  PrintProblems(summary.problems, out);
  int cells = 0;
  for (const Plan& plan : plans) cells += static_cast<int>(plan.cells.size());
  if (cells == 0) return kNothingToRun;
  return ExitFor(summary.counts);
}

std::string PythonProgram() {
  if (const char* python = std::getenv("RETABLE_PYTHON")) return python;
  // The distribution's interpreter has the distribution's matplotlib.
  return fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

std::string ShellQuote(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

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
  try {
    return Run(context, arguments, out, err);
  } catch (const ConfigError& problem) {
    for (const auto& line : problem.lines()) err << line << "\n";
  } catch (const StoreError& problem) {
    err << problem.what() << "\n";
  }
  return kUsage;
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
      fmt::format("{} {} --out {} --recorded {}", ShellQuote(PythonProgram()),
                  ShellQuote(context.root + "/plots/report.py"), ShellQuote(folder),
                  ShellQuote(context.root + "/results/recorded"));
  out << "drawing the figures and the report\n" << std::flush;
  const int status = std::system(command.c_str());
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
  if (matches.size() != 1) {
    err << (matches.empty() ? "no cell " : "more than one cell ") << key_prefix << " in " << folder
        << "/cells; keys stand in the tidy CSVs and in the report\n";
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
  for (const Metric& m : record->outcome.metrics) {
    const Summary s = Summarise(m.samples, 1);
    out << fmt::format("metric      {} [{}]: n = {}, median {} [{}, {}], mean {}, {} failed\n",
                       m.name, m.unit, s.n, s.median, s.ci_low, s.ci_high, s.mean, s.failures);
    for (std::size_t i = 0; i < m.samples.size(); ++i) {
      out << fmt::format("  {:>4} {} {}\n", i, m.samples[i], i < m.items.size() ? m.items[i] : "");
    }
  }
  out << "repeat      " << record->command << "\n";
  return kOk;
}

}  // namespace retable::harness
