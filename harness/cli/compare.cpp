#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "base/atomic_file.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/cli/selection.hpp"
#include "harness/machine/device.hpp"
#include "harness/machine/environment.hpp"
#include "harness/report/compare.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/noise_stretch.hpp"
#include "harness/run/paired_run.hpp"
#include "harness/run/store.hpp"
#include "harness/stats/noise.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

struct CompareArguments {
  Selection selection;
  std::vector<std::string> sides;          //!< two folders, programs or commits; then experiments
  bool programs = false, commits = false;  //!< measured in turns (harness/run/paired_run.hpp)
  int blocks = 20;
  bool strict = false;
};

struct NoiseArguments {
  Selection selection;
  int blocks = 10;
};

std::vector<std::string> FamiliesOf(const std::vector<Plan>& plans) {
  std::set<std::string> families;
  for (const Plan& plan : plans) {
    families.insert(plan.experiment.family);
    // Shapley values are played on explained trees.
    if (plan.experiment.family == "shapley") families.insert("treeshap");
  }
  return {families.begin(), families.end()};
}

int Paired(const Context& context, const CompareArguments& a, std::ostream& out,
           std::ostream& err) {
  const Selection& selection = a.selection;
  CheckResultsFolder(selection.out);
  const std::vector<Plan> plans = MakePlans(context, selection, FindDevices(selection.device), err);
  if (plans.empty()) return kNothingToRun;
  if (const std::string why = WhyNothingIsTimed(plans); !why.empty()) {
    err << "nothing to compare: " << why << '\n';
    return kNothingToRun;
  }
  const Noise noise = NoiseOfFolder(selection.out);
  PairedRunOptions options;
  options.old_program = a.sides[0];
  options.new_program = a.sides[1];
  if (a.commits) {
    const CommitBuild build{FamiliesOf(plans), RunsOnGpu(plans)};
    options.old_program = BuildCommit(context, a.sides[0], build, err);
    options.new_program = BuildCommit(context, a.sides[1], build, err);
  }
  for (const std::string& program : {options.old_program, options.new_program}) {
    if (!fs::exists(program)) {
      throw ConfigError({"compare --programs", 0, 0}, program + " does not exist");
    }
  }
  options.max_blocks = a.blocks;
  options.rule = noise.PairedRule();
  const PairedRun run = RunPaired(plans, options, err);
  out << "A " << a.sides[0] << "\nB " << a.sides[1]
      << "\nenvironment: the same, in turns (A B B A)\n"
      << (noise.pairs > 0 ? NoiseText(noise)
                          : fmt::format("noise floor {:.1f} %, from these executions "
                                        "(A and B against B and A)",
                                        100 * run.floor))
      << '\n';
  PrintComparison(run.comparison, out, true);
  if (run.comparison.timed.empty() && run.comparison.worsened.empty()) {
    out << "no timed cell ran under both programs\n";
    return kNothingToRun;
  }
  return ExitOf(run.comparison, a.strict);
}

// How a folder's environment differs from the one here; nothing where it is not known. Commits are
// left out: a cell's key tells its code.
std::optional<std::vector<std::string>> DifferencesTo(const std::string& folder,
                                                      const nlohmann::json& here) {
  const auto there =
      nlohmann::json::parse(ReadOrEmpty(folder + "/environment.json"), nullptr, false);
  if (there.is_discarded()) return std::nullopt;
  std::vector<std::string> differences = EnvironmentDifferences(there, here);
  std::erase_if(differences, [](const std::string& line) { return line.starts_with("git."); });
  return differences;
}

// The A/A stretch for two folders without a noise floor; none on another processor or card.
Noise MeasureFloor(const Context& context, const std::vector<std::string>& folders,
                   const std::vector<TimedPair>& timed, std::ostream& err) {
  const nlohmann::json here = CaptureEnvironment();
  std::vector<bool> alike;
  for (const std::string& folder : folders) {
    const auto differences = DifferencesTo(folder, here);
    if (!differences || std::ranges::any_of(*differences, [](const auto& line) {
          return line.starts_with("cpu.") || line.starts_with("gpu");
        })) {
      return AssumedNoise();
    }
    alike.push_back(differences->empty());
  }
  const Devices devices = FindDevices("auto");
  std::vector<StretchCell> cells;
  for (const TimedPair& pair : timed) {
    const CellConfig& config = pair.after->config;
    if (config.device == "cuda" && !devices.cuda) continue;
    const Metric* after = TimeOf(pair.after->record->outcome);
    if (after == nullptr) continue;
    StretchCell cell{config, Quantile(after->samples, 0.5), pair.after->record->seconds, {}};
    const std::string key =
        CellKey(config, config.device == "cuda" ? devices.cuda_class : devices.cpu_class);
    const ArtifactCell* sides[] = {pair.before, pair.after};
    for (std::size_t i = 0; i < 2; ++i) {
      const Metric* time = TimeOf(sides[i]->record->outcome);
      if (time != nullptr && sides[i]->key == key && alike[i]) cell.stored.push_back(time->samples);
    }
    cells.push_back(std::move(cell));
  }
  return MeasureStretch(std::move(cells), context.program, err);
}

int MeasureNoiseFloor(const Context& context, const NoiseArguments& a, std::ostream& out,
                      std::ostream& err) {
  const Selection& selection = a.selection;
  CheckFolderToWrite(selection.out);
  const std::vector<Plan> plans = MakePlans(context, selection, FindDevices(selection.device), err);
  if (plans.empty()) return kNothingToRun;
  PairedRunOptions options;
  options.old_program = options.new_program = context.program;
  options.max_blocks = a.blocks;
  options.all_blocks = true;
  const PairedRun run = RunPaired(plans, options, err);
  if (run.separate.empty()) {
    err << "no timed cell ran; nothing is known of the noise. Name experiments that time "
           "something, such as shuffle/beyond_cpu\n";
    return kNothingToRun;
  }
  Noise noise = MeasureNoise(run.separate, run.ratios);
  noise.measured = UtcNow();
  WriteFileAtomically(selection.out + "/noise.json", NoiseJson(noise));
  out << NoiseText(noise) << "; in turns " << fmt::format("{:.1f} %", 100 * noise.paired) << "\n"
      << selection.out << "/noise.json\n";
  return kOk;
}

int CompareSides(const Context& context, CompareArguments& a, std::ostream& out,
                 std::ostream& err) {
  const bool folders = !a.programs && !a.commits;
  if (a.sides.size() < 2 || (folders && a.sides.size() > 2)) {
    err << "compare needs two folders, or with --programs or --commits two of them and "
           "experiments\n";
    return kUsage;
  }
  if (folders) {
    const auto measure = [&](const std::vector<TimedPair>& timed) {
      return MeasureFloor(context, a.sides, timed, err);
    };
    return Compare(a.sides[0], a.sides[1], a.strict, measure, out);
  }
  a.selection.globs.assign(a.sides.begin() + 2, a.sides.end());
  return Paired(context, a, out, err);
}

void DeclareCompare(CLI::App& verb, CompareArguments& a) {
  verb.add_option("A B [experiments]", a.sides,
                  "two folders; or two programs or commits, then experiments or globs")
      ->required();
  verb.add_flag("--programs", a.programs, "A and B are programs; measured in turns (A B B A)");
  verb.add_flag("--commits", a.commits,
                "A and B are commits, built under build/commits ('.': this program)");
  verb.add_option("--blocks", a.blocks, "blocks of four executions a cell, at most")
      ->check(CLI::Range(1, 10000));
  verb.add_flag("--strict", a.strict, "exit 5 when something is slower or no longer ok");
  AddSelection(verb, a.selection);
}

void DeclareNoise(CLI::App& verb, NoiseArguments& a) {
  verb.add_option("ids", a.selection.globs, "experiments or globs with timed cells")->required();
  verb.add_option("--blocks", a.blocks, "blocks of four executions a cell")
      ->check(CLI::Range(1, 10000));
  AddSelection(verb, a.selection);
}

}  // namespace

Verb MakeCompareVerb(const Context& context) {
  return MakeVerb<CompareArguments>(
      context, "compare",
      "Two results folders, or two programs or commits in turns: faster, slower, same?",
      DeclareCompare, CompareSides);
}

Verb MakeNoiseVerb(const Context& context) {
  return MakeVerb<NoiseArguments>(context, "noise",
                                  "A/A run: what this machine does to identical code; for compare",
                                  DeclareNoise, MeasureNoiseFloor);
}

}  // namespace retable::harness
