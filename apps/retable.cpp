//! @file
//! The program: parses the command line and hands each verb to the harness. The families tie
//! themselves in by being linked (their protocols and methods register before main).

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "datasets/catalog.hpp"
#include "datasets/commands.hpp"
#include "harness/commands.hpp"
#include "harness/compare.hpp"
#include "harness/device.hpp"
#include "harness/doctor.hpp"
#include "harness/shell.hpp"
#include "harness/verbs.hpp"
#include "harness/worker.hpp"

namespace {

namespace fs = std::filesystem;
using retable::harness::Context;
using retable::harness::RunArguments;

// experiments/ is looked for in $RETABLE_ROOT, here, and where the program was built.
std::string FindRoot() {
  if (const char* root = std::getenv("RETABLE_ROOT")) return root;
  if (fs::exists("experiments") && fs::exists("plots")) return ".";
  return RETABLE_SOURCE_DIR;
}

std::string JoinArguments(int argc, char** argv) {
  std::string text;
  for (int i = 0; i < argc; ++i)
    text.append(i ? " " : "").append(retable::harness::ShellWord(argv[i]));
  return text;
}

// Which cells: shared by the verbs that measure.
void AddSelection(CLI::App& verb, RunArguments& run) {
  verb.add_option("--profile", run.profile, "smoke, quick (default) or paper")
      ->check(CLI::IsMember({"smoke", "quick", "paper"}));
  verb.add_option("--device", run.device, "auto (default), cpu or cuda")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  verb.add_option("--out", run.out, "results folder (default results/latest)");
  verb.add_option("--set", run.assignments, "override a field: --set repeats=3")
      ->take_all()
      ->allow_extra_args(false);
  verb.add_option("--machine", run.machine_file, "TOML of overrides for this machine")
      ->envname("RETABLE_MACHINE");
  verb.add_option("--repeats", run.repeats, "samples per cell")->check(CLI::Range(1, 1000000));
}

void AddRun(CLI::App& app, RunArguments& run) {
  CLI::App* verb = app.add_subcommand("run", "Measure experiments; what is stored is not repeated");
  verb->add_option("ids", run.globs, "experiments or globs: quantiles/table2 'quantiles/*'");
  AddSelection(*verb, run);
  verb->add_option_function<std::string>(
          "--only", [&run](const std::string&) { run.only_failed = true; },
          "failed: measure again only what failed")
      ->check(CLI::IsMember({"failed"}));
  verb->add_flag("--force", run.force, "measure again what is stored");
  verb->add_flag("--dry-run", run.dry_run, "print every cell, stored or not, and stop");
  verb->add_option("--shard", run.shard,
                   "i/n: this process takes every n-th cell; auto: as Slurm or MPI numbers it");
  verb->add_option("--budget", run.budget,
                   "10m, 90s: short cells first, each once; then again where it is least sure");
  verb->add_option("--rounds", run.rounds,
                   "timed cells in so many rounds, there and back, so that contenders take turns")
      ->check(CLI::Range(1, 100));
  verb->add_option("--jobs", run.jobs, "workers side by side for untimed cells (default: cores)")
      ->check(CLI::Range(1, 4096));
}

struct Arguments {
  RunArguments run;
  std::string out = "results/latest";
  bool strict = false, json = false, fields = false, protocols = false, measure = false;
  std::string key, ceilings;
  std::vector<std::string> sides;  //!< of compare: two folders, or two programs and experiments
  retable::harness::PairedArguments paired;
  bool programs = false;
  int noise_blocks = 10;
};

void AddCompare(CLI::App& app, Arguments& a) {
  CLI::App* verb = app.add_subcommand(
      "compare", "Two results folders, or two programs or commits in turns: faster, slower, same?");
  verb->add_option("A B [experiments]", a.sides,
                   "two folders; or two programs or commits, then experiments or globs")
      ->required();
  verb->add_flag("--programs", a.programs, "A and B are programs; measured in turns (A B B A)");
  verb->add_flag("--commits", a.paired.commits,
                 "A and B are commits, built under build/commits ('.': this program)");
  verb->add_option("--blocks", a.paired.blocks, "blocks of four executions a cell, at most")
      ->check(CLI::Range(1, 10000));
  verb->add_flag("--strict", a.strict, "exit 5 when something is slower or no longer ok");
  AddSelection(*verb, a.run);
}

void AddNoise(CLI::App& app, Arguments& a) {
  CLI::App* verb =
      app.add_subcommand("noise", "A/A run: what this machine does to identical code; for compare");
  verb->add_option("ids", a.run.globs, "experiments or globs with timed cells")->required();
  verb->add_option("--blocks", a.noise_blocks, "blocks of four executions a cell")
      ->check(CLI::Range(1, 10000));
  AddSelection(*verb, a.run);
}

void AddVerbs(CLI::App& app, Arguments& a) {
  CLI::App* list = app.add_subcommand("list", "Experiments, their citations and expected times");
  list->add_flag("--json", a.json, "as JSON");
  list->add_flag("--fields", a.fields, "every field of an experiment's TOML");
  list->add_flag("--protocols", a.protocols, "measuring protocols and their algorithms");
  AddRun(app, a.run);
  CLI::App* check = app.add_subcommand("check", "Verdicts and claims of a results folder");
  check->add_option("--out", a.out, "results folder");
  check->add_flag("--strict", a.strict, "exit 4 when a verdict is MISMATCH or a claim fails");
  CLI::App* report = app.add_subcommand("report", "Tables, figures, report.html and report.md");
  report->add_option("--out", a.out, "results folder");
  AddCompare(app, a);
  AddNoise(app, a);
  app.add_subcommand("datasets",
                     "list, fetch, verify, path, mirror: see `retable datasets --help`");
  for (const auto& verb : retable::harness::Verbs()) app.add_subcommand(verb.name, verb.summary);
  CLI::App* explain = app.add_subcommand("explain", "One cell: what ran, on what, every sample");
  explain->add_option("key", a.key, "the cell's key, or its first digits")->required();
  explain->add_option("--out", a.out, "results folder");
  CLI::App* doctor = app.add_subcommand("doctor", "This machine, its GPU and libraries");
  doctor->add_flag("--measure", a.measure, "measure the machine's ceilings");
  doctor->add_option("--out", a.ceilings, "keep the ceilings in this results folder");
}

int DispatchCompare(const Context& context, Arguments& a) {
  namespace h = retable::harness;
  const bool folders = !a.programs && !a.paired.commits;
  if (a.sides.size() < 2 || (folders && a.sides.size() > 2)) {
    std::cerr << "compare needs two folders, or with --programs or --commits two of them and "
                 "experiments\n";
    return h::kUsage;
  }
  if (folders) return h::Compare(a.sides[0], a.sides[1], a.strict, std::cout);
  a.paired.old_side = a.sides[0];
  a.paired.new_side = a.sides[1];
  a.paired.strict = a.strict;
  a.run.globs.assign(a.sides.begin() + 2, a.sides.end());
  return h::PairedCommand(context, a.run, a.paired, std::cout, std::cerr);
}

int Dispatch(const CLI::App& app, const Context& context, Arguments& a, int argc, char** argv) {
  namespace h = retable::harness;
  if (app.got_subcommand("list")) {
    return h::ListCommand(context, a.json, a.fields, a.protocols, std::cout);
  }
  if (app.got_subcommand("run")) {
    a.run.command_line = JoinArguments(argc, argv);
    return h::RunCommand(context, a.run, std::cout, std::cerr);
  }
  if (app.got_subcommand("check")) return h::CheckCommand(a.out, a.strict, std::cout);
  if (app.got_subcommand("report")) {
    return h::ReportCommand(context, a.out, std::cout, std::cerr);
  }
  if (app.got_subcommand("compare")) return DispatchCompare(context, a);
  if (app.got_subcommand("noise")) {
    return h::NoiseCommand(context, a.run, a.noise_blocks, std::cout, std::cerr);
  }
  if (app.got_subcommand("explain")) {
    return h::ExplainCommand(a.out, a.key, std::cout, std::cerr);
  }
  if (app.got_subcommand("doctor")) {
    const std::string path = a.ceilings.empty() ? "" : a.ceilings + "/ceilings.json";
    return h::Doctor(std::cout, a.measure || !path.empty(), path);
  }
  std::cout << app.help();
  return h::kUsage;
}

// What a reader should know before the first figure: which data there is, and whether there is a
// GPU.
std::vector<std::string> Banner() {
  std::vector<std::string> notes;
  retable::datasets::FetchOptions only_here;
  only_here.policy = retable::datasets::FetchPolicy::kNone;
  const auto suite = retable::datasets::Catalog().Resolve("cc18", only_here);
  const auto present = std::count_if(suite.begin(), suite.end(), [](auto& m) { return m.present; });
  if (present == 0) {
    notes.push_back(
        "No OpenML data is at hand (no network, or nothing fetched yet): embedded and generated "
        "data only. `build/retable datasets fetch cc18` brings the suite.");
  } else if (present < static_cast<std::ptrdiff_t>(suite.size())) {
    notes.push_back(
        fmt::format("{} of {} members of OpenML-CC18 are at hand.", present, suite.size()));
  }
  std::string reason;
  if (!retable::harness::CudaDevicePresent(&reason)) {
    notes.push_back("GPU rows are NOT-RUN: " + reason + ". Recorded rows stand beside them.");
  }
  return notes;
}

// What was said may not have arrived: a full disk behind `>` must not look like success.
int WithStandardOutput(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout && std::ferror(stdout) == 0) return status;
  std::cerr << "the standard output could not be written; is the disk full?\n";
  return status == retable::harness::kOk ? retable::harness::kCellFailed : status;
}

int Main(int argc, char** argv) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  try {
    if (argc >= 2 && std::string(argv[1]) == "datasets") {
      return retable::datasets::DatasetsMain({argv + 2, argv + argc}, std::cout, std::cerr);
    }
    for (const auto& verb : retable::harness::Verbs()) {
      if (argc >= 2 && verb.name == argv[1]) {
        return verb.run({argv + 2, argv + argc}, std::cout, std::cerr);
      }
    }
    Context context;
    context.root = FindRoot();
    // Workers and contenders in other languages start from there.
    setenv("RETABLE_ROOT", fs::absolute(context.root).c_str(), 1);
    context.program = program;
    context.terminal = isatty(STDERR_FILENO) != 0 && !std::getenv("NO_COLOR");
    context.banner = Banner;
    CLI::App app{"Retable: the experiments of five works on GPU machine learning, run again"};
    app.set_version_flag("--version", "retable " RETABLE_VERSION);
    app.require_subcommand(0, 1);
    Arguments arguments;
    AddVerbs(app, arguments);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
      return retable::harness::RefuseWords(app, problem, std::cout, std::cerr);
    }
    return Dispatch(app, context, arguments, argc, argv);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return retable::harness::kUsage;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "worker") return retable::harness::WorkerMain();
  return WithStandardOutput(Main(argc, argv));
}
