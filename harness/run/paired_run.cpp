#include "harness/run/paired_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <ostream>
#include <set>

#include "base/atomic_file.hpp"
#include "harness/cli/shell.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/worker.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kBlocksSeed = 1;
constexpr double kError = 0.05;  // that any cell of equal programs is called faster or slower
constexpr double kMargin = 1.5;  // over the far end of the noise's interval, itself an estimate

// The numbers of blocks after which a verdict is sought: the least that an interval with this error
// over all looks needs, then a third more each time.
std::vector<int> Looks(double error, int most) {
  std::vector<int> looks;
  for (int count = 1; count <= 10; ++count) {
    looks.clear();
    const int least = static_cast<int>(std::ceil(std::log2(2 * count / error)));
    for (int n = std::min(least, most); n < most; n += (n + 2) / 3) looks.push_back(n);
    looks.push_back(most);
    if (static_cast<int>(looks.size()) <= count) break;
  }
  return looks;
}

// One cell under both programs.
class PairedCell {
 public:
  PairedCell(const PlannedCell& cell, const PairedRunOptions& options, double error)
      : cell_(cell), options_(options), error_(error) {}

  // Blocks until the verdict is clear. False when an execution fails: `problem` says which.
  bool Run() {
    const std::vector<int> looks = Looks(error_, options_.max_blocks);
    for (const int look : looks) {
      while (static_cast<int>(blocks.size()) < look) {
        if (!Block()) return false;
      }
      Judge(error_ / static_cast<double>(looks.size()));
      if (significance != Significance::kAmbiguous && !options_.all_blocks) return true;
    }
    return true;
  }

  std::vector<PairedBlock> blocks;  // new and old time of each
  std::vector<SamePair> separate;
  Interval ratio{};
  double floor = 0;
  Significance significance = Significance::kAmbiguous;
  std::string unit, problem;
  bool only_new_fails = false;

 private:
  void Judge(double error) {
    std::vector<double> ratios, same;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ratios.push_back(blocks[i].a / blocks[i].b);
      same.push_back(crossed_[i].a / crossed_[i].b);
    }
    SignificanceRule rule = options_.rule;
    const Interval bounds = MedianBounds(ratios, error), noise = MedianBounds(same, error);
    if (noise.method != IntervalMethod::kNone) {
      rule.noise_floor = std::max(rule.noise_floor, std::abs(noise.estimate - 1));
      rule.margin = std::max({rule.margin, kMargin * (1 - noise.low), kMargin * (noise.high - 1)});
    }
    floor = rule.noise_floor;
    significance = Decide(bounds, true, rule);
    // What is shown has the interval that all of the program shows.
    ratio = PairedRatio(blocks, kBlocksSeed);
  }

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
    crossed_.push_back({mean(a1, b2), mean(b1, a2)});
    separate.push_back({std::move(a1), std::move(b1)});
    return true;
  }

  bool Execute(const std::string& program, std::vector<double>& times, bool is_old) {
    const Outcome outcome =
        RunCell(program, cell_.config, {cell_.time_limit, cell_.memory_limit}).outcome;
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
  double error_;
  std::vector<PairedBlock> crossed_;  // the same executions, each program on either side
};

void Add(PairedRun& run, const CellConfig& config, PairedCell& cell) {
  std::vector<double> old_times, new_times;
  for (const PairedBlock& block : cell.blocks) {
    new_times.push_back(block.a);
    old_times.push_back(block.b);
  }
  run.comparison.timed.push_back({config.experiment, NameOf(config), "time", cell.unit,
                                  Quantile(old_times, 0.5), Quantile(new_times, 0.5), cell.ratio,
                                  cell.significance});
  run.ratios.push_back(cell.ratio.estimate);
  run.floor = std::max(run.floor, cell.floor);
  std::move(cell.separate.begin(), cell.separate.end(), std::back_inserter(run.separate));
}

// The distinct cells that are timed here.
std::vector<const PlannedCell*> TimedCells(const std::vector<Plan>& plans) {
  std::set<std::string> seen;
  std::vector<const PlannedCell*> cells;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (cell.exclusive && !cell.not_run && seen.insert(cell.key).second) cells.push_back(&cell);
    }
  }
  return cells;
}

// The last "[312/845]" or "[ 37%]" of a build's output.
std::string StageOf(const std::string& output) {
  const std::string text = ReadOrEmpty(output);
  const auto open = text.rfind("\n[");
  const auto close = open == std::string::npos ? open : text.find(']', open);
  return close == std::string::npos ? "starts" : text.substr(open + 2, close - open - 2);
}

// Runs a command that writes to `output`, with a line of progress. @return its exit status
int RunBuild(const std::string& command, const std::string& output, const std::string& what,
             bool terminal, std::ostream& log) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto begun = now();
  auto running = std::async(std::launch::async, [&] { return std::system(command.c_str()); });
  const auto pause = terminal ? std::chrono::seconds(1) : std::chrono::seconds(15);
  while (running.wait_for(pause) != std::future_status::ready) {
    const double seconds = std::chrono::duration<double>(now() - begun).count();
    log << fmt::format("{}{}: {}, {}{}", terminal ? "\r\033[K" : "", what, StageOf(output),
                       DurationText(seconds), terminal ? "" : "\n")
        << std::flush;
  }
  if (terminal) log << "\r\033[K" << std::flush;
  return running.get();
}

// The program of a build that is there and holds these families, or more; else empty.
std::string BuiltProgram(const std::string& stem, const CommitBuild& build) {
  std::error_code error;
  const fs::path path(stem);
  for (const auto& entry : fs::directory_iterator(path.parent_path(), error)) {
    const std::string name = entry.path().filename().string() + "-";
    const std::string program = (entry.path() / "build/retable").string();
    const bool holds = name.starts_with(path.filename().string() + "-") &&
                       !(build.cuda && name.ends_with("-cpu-")) &&
                       std::ranges::all_of(build.families, [&](const auto& f) {
                         return name.find("-" + f + "-") != std::string::npos;
                       });
    if (holds && fs::exists(program)) return program;
  }
  return "";
}

}  // namespace

PairedRun RunPaired(const std::vector<Plan>& plans, const PairedRunOptions& options,
                    std::ostream& log) {
  PairedRun run;
  const std::vector<const PlannedCell*> cells = TimedCells(plans);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    PairedCell cell(*cells[i], options, kError / static_cast<double>(cells.size()));
    const CellConfig& config = cells[i]->config;
    const std::string where = config.experiment + "  " + NameOf(config);
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
  return std::ranges::any_of(plans, [](const Plan& plan) {
    return std::ranges::any_of(plan.cells, [](const PlannedCell& cell) {
      return !cell.not_run && cell.config.device == "cuda";
    });
  });
}

std::string WhyNothingIsTimed(const std::vector<Plan>& plans) {
  if (!TimedCells(plans).empty()) return "";
  std::string reason;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (cell.exclusive && cell.not_run && reason.empty()) reason = *cell.not_run;
    }
  }
  return reason.empty() ? "these experiments time nothing; name others, such as shuffle/beyond_cpu"
                        : "no timed cell of these experiments can run here: " + reason;
}

std::string BuildCommit(const Context& context, const std::string& commit, const CommitBuild& build,
                        std::ostream& log) {
  if (commit == ".") return context.program;
  const std::string& root = context.root;
  const std::string hash = PrintedBy("git -C " + ShellWord(root) + " rev-parse --verify --quiet " +
                                     ShellWord(commit + "^{commit}"));
  if (hash.empty()) {
    throw ConfigError({"compare --commits", 0, 0},
                      "git knows no commit \"" + commit + "\" in " + root);
  }
  std::string only;
  std::string folder = fs::absolute(root + "/build/commits/" + hash.substr(0, 12)).string();
  if (const std::string built = BuiltProgram(folder, build); !built.empty()) return built;
  for (const std::string& family : build.families) {
    only += (only.empty() ? "" : ";") + family;
    folder += "-" + family;
  }
  if (!build.cuda) folder += "-cpu";
  const std::string program = folder + "/build/retable", output = folder + ".log";
  const std::string what = "building " + commit + " (" + hash.substr(0, 12) + ")";
  log << what << " in " << folder << "\n" << std::flush;
  fs::create_directories(fs::path(folder).parent_path());
  // With the base folder named, the compiler's cache gives what both commits have in common.
  const std::string command = fmt::format(
      "exec >{0} 2>&1; export CCACHE_BASEDIR={1} CCACHE_NOHASHDIR=1; "
      "{{ test -d {1}/.git || git clone --quiet --shared --no-checkout {2} {1}; }} && "
      "git -C {1} checkout --quiet --force {3} && "
      "cmake -S {1} -B {4} $(command -v ninja >/dev/null && echo -GNinja) "
      "-DCMAKE_BUILD_TYPE=Release -DRETABLE_ONLY={5} -DRETABLE_CUDA={6} && "
      "cmake --build {4} --target retable -j {7}",
      ShellWord(output), ShellWord(folder), ShellWord(root), hash, ShellWord(folder + "/build"),
      ShellWord(only), build.cuda ? "ON" : "OFF", AllowedProcessors());
  if (RunBuild(command, output, what, context.terminal, log) != 0 || !fs::exists(program)) {
    throw ConfigError({"compare --commits", 0, 0},
                      "commit " + commit + " does not build; the compiler's words: " + output);
  }
  return program;
}

}  // namespace retable::harness
