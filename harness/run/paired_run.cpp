#include "harness/run/paired_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <thread>

#include "harness/cli/shell.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/worker.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kBlocksSeed = 1;

// One cell under both programs.
class PairedCell {
 public:
  PairedCell(const PlannedCell& cell, const PairedRunOptions& options)
      : cell_(cell), options_(options) {}

  // Blocks until the verdict is clear. False when an execution fails: `problem` says which.
  bool Run() {
    while (static_cast<int>(blocks.size()) < options_.max_blocks) {
      if (!Block()) return false;
      if (static_cast<int>(blocks.size()) < options_.min_blocks) continue;
      ratio = PairedRatio(blocks, kBlocksSeed);
      significance = Decide(ratio, true, options_.rule);
      if (significance != Significance::kAmbiguous) return true;
    }
    return true;
  }

  std::vector<PairedBlock> blocks;  // new and old time of each
  std::vector<SamePair> separate;
  Interval ratio{};
  Significance significance = Significance::kAmbiguous;
  std::string unit, problem;
  bool only_new_fails = false;

 private:
  bool Block() {
    std::vector<double> a1, b1, b2, a2;
    if (!Execute(options_.old_program, a1, true) || !Execute(options_.new_program, b1, false) ||
        !Execute(options_.new_program, b2, false) || !Execute(options_.old_program, a2, true)) {
      return false;
    }
    const auto mean = [](const auto& x, const auto& y) {
      return (Quantile(x, 0.5) + Quantile(y, 0.5)) / 2;
    };
    blocks.push_back({mean(b1, b2), mean(a1, a2)});
    separate.push_back({std::move(a1), std::move(b1)});
    return true;
  }

  bool Execute(const std::string& program, std::vector<double>& times, bool is_old) {
    Worker worker(program, cell_.config, {cell_.time_limit, cell_.memory_limit});
    std::optional<WorkerResult> result;
    while (!(result = worker.Poll())) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const Outcome& outcome = result->outcome;
    const Metric* time = TimeOf(outcome);
    if (outcome.status != "ok" || time == nullptr) {
      problem = fmt::format("{} program: {} {}", is_old ? "old" : "new", outcome.status,
                            outcome.status == "ok" ? "but nothing was timed" : outcome.reason);
      only_new_fails = !is_old;
      return false;
    }
    unit = time->unit;
    times = time->samples;
    return true;
  }

  const PlannedCell& cell_;
  const PairedRunOptions& options_;
};

std::string Name(const CellConfig& config) {
  return config.label + " [" + config.device + ", " + config.dataset + AxesText(config.axes) + "]";
}

void Add(PairedRun& run, const CellConfig& config, PairedCell& cell) {
  std::vector<double> old_times, new_times;
  for (const PairedBlock& block : cell.blocks) {
    new_times.push_back(block.a);
    old_times.push_back(block.b);
  }
  run.comparison.timed.push_back({config.experiment, Name(config), "time", cell.unit,
                                  Quantile(old_times, 0.5), Quantile(new_times, 0.5), cell.ratio,
                                  cell.significance});
  run.ratios.push_back(cell.ratio.estimate);
  std::move(cell.separate.begin(), cell.separate.end(), std::back_inserter(run.separate));
}

// First line of what a command prints; empty when it fails.
std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  char line[256] = {};
  const bool any = pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr;
  const bool ok = pipe != nullptr && pclose(pipe) == 0;
  std::string text = any && ok ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

PairedRun RunPaired(const std::vector<Plan>& plans, const PairedRunOptions& options,
                    std::ostream& log) {
  PairedRun run;
  std::set<std::string> seen;
  std::vector<const PlannedCell*> cells;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (cell.exclusive && !cell.not_run && seen.insert(cell.key).second) cells.push_back(&cell);
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    PairedCell cell(*cells[i], options);
    const CellConfig& config = cells[i]->config;
    const std::string where = config.experiment + "  " + Name(config);
    if (cell.Run()) {
      Add(run, config, cell);
      log << fmt::format("[{}/{}] {}: {:.3f} [{:.3f}, {:.3f}] {} ({} blocks)\n", i + 1,
                         cells.size(), where, cell.ratio.estimate, cell.ratio.low, cell.ratio.high,
                         Name(cell.significance), cell.blocks.size())
          << std::flush;
      continue;
    }
    log << fmt::format("[{}/{}] {}: {}\n", i + 1, cells.size(), where, cell.problem) << std::flush;
    if (cell.only_new_fails) {
      run.comparison.worsened.push_back(where + ": " + cell.problem);
    } else {
      ++run.comparison.only_new;
    }
  }
  return run;
}

bool RunsOnGpu(const std::vector<Plan>& plans) {
  return std::any_of(plans.begin(), plans.end(), [](const Plan& plan) {
    return std::any_of(plan.cells.begin(), plan.cells.end(), [](const PlannedCell& cell) {
      return !cell.not_run && cell.config.device == "cuda";
    });
  });
}

std::string BuildCommit(const std::string& root, const std::string& commit,
                        const CommitBuild& build, const std::string& this_program,
                        std::ostream& log) {
  if (commit == ".") return this_program;
  const std::string hash = OutputOf("git -C " + ShellWord(root) + " rev-parse --verify --quiet " +
                                    ShellWord(commit + "^{commit}"));
  if (hash.empty()) {
    throw ConfigError({"compare --commits", 0, 0},
                      "git knows no commit \"" + commit + "\" in " + root);
  }
  std::string only;
  std::string folder = fs::absolute(root + "/build/commits/" + hash.substr(0, 12)).string();
  for (const std::string& family : build.families) {
    only += (only.empty() ? "" : ";") + family;
    folder += "-" + family;
  }
  if (!build.cuda) folder += "-cpu";
  const std::string program = folder + "/build/retable", output = folder + ".log";
  if (fs::exists(program)) return program;
  log << "building " << commit << " (" << hash.substr(0, 12) << ") in " << folder << "\n"
      << std::flush;
  fs::remove_all(folder);
  fs::create_directories(fs::path(folder).parent_path());
  // With the base folder named, the compiler's cache gives what both commits have in common.
  const std::string command = fmt::format(
      "exec >{0} 2>&1; export CCACHE_BASEDIR={1} CCACHE_NOHASHDIR=1; "
      "git clone --quiet --shared --no-checkout {2} {1} && git -C {1} checkout --quiet {3} && "
      "cmake -S {1} -B {4} $(command -v ninja >/dev/null && echo -GNinja) "
      "-DCMAKE_BUILD_TYPE=Release -DRETABLE_ONLY={5} -DRETABLE_CUDA={6} && "
      "cmake --build {4} --target retable -j {7}",
      ShellWord(output), ShellWord(folder), ShellWord(root), hash, ShellWord(folder + "/build"),
      ShellWord(only), build.cuda ? "ON" : "OFF",
      std::max(1u, std::thread::hardware_concurrency()));
  if (std::system(command.c_str()) != 0 || !fs::exists(program)) {
    throw ConfigError({"compare --commits", 0, 0},
                      "commit " + commit + " does not build; the compiler's words: " + output);
  }
  return program;
}

}  // namespace retable::harness
