#include "harness/run/runner.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <set>
#include <thread>

#include "harness/plan/estimate.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/remeasure.hpp"
#include "harness/run/worker.hpp"

namespace retable::harness {
namespace {

using Clock = std::chrono::steady_clock;

bool IsFinal(const std::string& status) {
  return status == "ok" || status == "skipped";
}

// How often the user asked to stop.
volatile sig_atomic_t interrupts = 0;
void OnInterrupt(int) {
  interrupts = interrupts + 1;
}

std::string RepeatCommand(const PlannedCell& cell, const RunOptions& options) {
  return fmt::format("build/retable run {} --profile {} --out {} --force", cell.config.experiment,
                     options.profile, options.out);
}

// One worker and the cell it works on.
struct Slot {
  const PlannedCell* cell = nullptr;
  std::unique_ptr<Worker> worker;
  std::string started;
};

class Campaign {
 public:
  Campaign(std::vector<const PlannedCell*> todo, const RunOptions& options, const Store& store,
           std::string environment_hash, DurationEstimator& estimate, Progress& progress)
      : todo_(std::move(todo)),
        options_(options),
        store_(store),
        environment_(std::move(environment_hash)),
        estimate_(estimate),
        progress_(progress),
        begun_(Clock::now()) {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    jobs_ = options.jobs > 0 ? options.jobs : cores;
  }

  void Run(RunSummary& summary) {
    progress_.SetLeft(SecondsLeft());
    while (next_ < todo_.size() || !slots_.empty()) {
      const bool last = BudgetLeft() <= 0 || interrupts > 0;
      if (last && slots_.empty()) break;
      if (!last) Fill();
      Wait();
      if (StopNow()) break;
      Collect(summary);
    }
    summary.left = static_cast<int>(todo_.size() - next_);
  }

  // Measures the timed cells among these again, the widest interval first, while there is time.
  void Remeasure(const std::vector<const PlannedCell*>& cells, RunSummary& summary) {
    std::vector<Remeasurable> all = Timed(cells);
    while (Remeasurable* widest = Widest(all)) {
      if (!Again(*widest, summary)) return;
    }
  }

  // Measures the timed cells among these until each was measured in so many processes: back and
  // forth, so that contenders take turns.
  void Interleave(const std::vector<const PlannedCell*>& cells, RunSummary& summary) {
    std::vector<Remeasurable> all = Timed(cells);
    for (std::int64_t round = 2; round <= options_.rounds; ++round) {
      std::reverse(all.begin(), all.end());
      for (Remeasurable& cell : all) {
        if (cell.record.outcome.status != "ok" || Executions(cell.record.outcome) >= round)
          continue;
        if (interrupts > 0 || cell.record.seconds > BudgetLeft() || !Again(cell, summary)) return;
      }
    }
  }

 private:
  struct Remeasurable {
    const PlannedCell* cell;
    CellRecord record;
    double width;
  };

  double BudgetLeft() const {
    if (options_.budget_seconds <= 0) return 1e300;
    return options_.budget_seconds - std::chrono::duration<double>(Clock::now() - begun_).count();
  }

  // The cells that are timed, with what is stored of them. Samples of another machine or another
  // state of it are not pooled.
  std::vector<Remeasurable> Timed(const std::vector<const PlannedCell*>& cells) const {
    std::vector<Remeasurable> all;
    for (const PlannedCell* cell : cells) {
      auto record = cell->exclusive ? LoadRecord(options_.out, cell->key) : std::nullopt;
      if (!record || !record->checked || record->environment != environment_) continue;
      if (const auto width = RelativeWidth(record->outcome)) {
        all.push_back({cell, std::move(*record), *width});
      }
    }
    return all;
  }

  // One more execution, pooled with those before; false when it was interrupted.
  bool Again(Remeasurable& cell, RunSummary& summary) {
    const auto more = Once(*cell.cell);
    if (!more || (interrupts > 0 && more->outcome.status == "crash")) return false;
    AddExecution(cell.record, more->outcome);
    store_.Save(cell.record);
    ++summary.remeasured;
    cell.width = RelativeWidth(cell.record.outcome).value_or(0);
    progress_.Remeasured(cell.record);
    return true;
  }

  // Untimed cells share the cores, timed ones have the machine to themselves.
  double SecondsLeft() const {
    double shared = 0, alone = 0;
    for (std::size_t i = next_; i < todo_.size(); ++i) {
      (todo_[i]->exclusive ? alone : shared) += estimate_.Seconds(todo_[i]->config);
    }
    return std::min(shared / jobs_ + alone, BudgetLeft());
  }

  // The next to measure again: not narrow yet, short enough for what is left, not all too often.
  Remeasurable* Widest(std::vector<Remeasurable>& all) const {
    constexpr double kNarrow = 0.01;
    constexpr std::int64_t kMostExecutions = 30;
    Remeasurable* widest = nullptr;
    for (Remeasurable& r : all) {
      if (interrupts > 0 || r.width <= kNarrow || r.record.seconds > BudgetLeft() ||
          Executions(r.record.outcome) >= kMostExecutions) {
        continue;
      }
      if (widest == nullptr || r.width > widest->width) widest = &r;
    }
    return widest;
  }

  // One execution, alone; nothing when it was stopped.
  std::optional<WorkerResult> Once(const PlannedCell& cell) {
    Start(cell);
    while (true) {
      Wait();
      if (StopNow()) return std::nullopt;
      if (auto result = slots_.front().worker->Poll()) {
        slots_.clear();
        return result;
      }
      progress_.Tick();
    }
  }

  void Start(const PlannedCell& cell) {
    slots_.push_back({&cell,
                      std::make_unique<Worker>(options_.program, cell.config,
                                               WorkerLimits{cell.time_limit, cell.memory_limit}),
                      UtcNow()});
    progress_.Started(cell.config);
  }

  // After a first interrupt: says what is being finished. After a second: ends the workers.
  bool StopNow() {
    if (interrupts > 0 && !told_ && !slots_.empty()) {
      told_ = true;
      const CellConfig& cell = slots_.front().cell->config;
      const std::size_t others = slots_.size() - 1;
      progress_.Say(fmt::format("finishing {} {} on {}{}, again to stop now", cell.experiment,
                                cell.label, cell.dataset,
                                others > 0 ? fmt::format(" and {} more", others) : ""));
    }
    if (interrupts < 2) return false;
    slots_.clear();
    return true;
  }

  // An exclusive (timed) cell runs alone; the others fill the cores.
  void Fill() {
    while (next_ < todo_.size() && static_cast<int>(slots_.size()) < jobs_) {
      const PlannedCell& cell = *todo_[next_];
      const bool alone = cell.exclusive || (!slots_.empty() && slots_.front().cell->exclusive);
      if (alone && !slots_.empty()) return;
      Start(cell);
      ++next_;
    }
  }

  void Wait() {
    std::vector<pollfd> descriptors;
    for (const Slot& slot : slots_) descriptors.push_back({slot.worker->descriptor(), POLLIN, 0});
    poll(descriptors.data(), descriptors.size(), kPollMilliseconds);
  }

  void Collect(RunSummary& summary) {
    for (std::size_t i = 0; i < slots_.size();) {
      auto result = slots_[i].worker->Poll();
      if (!result) {
        ++i;
        continue;
      }
      Record(slots_[i], std::move(*result), summary);
      slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    progress_.Tick();
  }

  void Record(const Slot& slot, WorkerResult result, RunSummary& summary) {
    CellRecord record;
    record.key = slot.cell->key;
    record.config = slot.cell->config;
    record.outcome = std::move(result.outcome);
    record.seconds = result.seconds;
    record.peak_mib = result.peak_mib;
    record.started = slot.started;
    record.environment = environment_;
    record.command = RepeatCommand(*slot.cell, options_);
    // A cell stopped by Ctrl-C is not a finding about the algorithm.
    if (interrupts > 0 && record.outcome.status == "crash") return;
    store_.Save(record);
    ++summary.measured;
    estimate_.Learn(record.config, record.seconds);
    progress_.SetLeft(SecondsLeft());
    progress_.Finished(record);
  }

  static constexpr int kPollMilliseconds = 10;

  std::vector<const PlannedCell*> todo_;
  const RunOptions& options_;
  const Store& store_;
  std::string environment_;
  DurationEstimator& estimate_;
  Progress& progress_;
  Clock::time_point begun_;
  int jobs_ = 1;
  std::size_t next_ = 0;
  bool told_ = false;  // that the cells in hand are being finished
  std::vector<Slot> slots_;
};

std::string Describe(const CellRecord& record) {
  return fmt::format("{} on {} [{}]: {}: {} (build/retable explain {})", record.config.label,
                     record.config.dataset, record.config.experiment, record.outcome.status,
                     record.outcome.reason, record.key.substr(0, 12));
}

// Untimed cells first, so that exclusive ones find an idle machine at a stretch. Under a budget the
// shortest first: most cells are measured before it is spent.
void SortCells(std::vector<const PlannedCell*>& cells, const RunOptions& options,
               const DurationEstimator& estimate) {
  if (options.budget_seconds > 0) {
    std::stable_sort(cells.begin(), cells.end(), [&](const auto* a, const auto* b) {
      return estimate.Seconds(a->config) < estimate.Seconds(b->config);
    });
  } else {
    std::stable_sort(cells.begin(), cells.end(),
                     [](const auto* a, const auto* b) { return a->exclusive < b->exclusive; });
  }
}

}  // namespace

std::vector<Decision> Decide(const std::vector<Plan>& plans, const RunOptions& options,
                             std::ostream& log) {
  std::vector<Decision> decisions;
  std::set<std::string> seen;
  int unchecked = 0;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (!seen.insert(cell.key + (cell.not_run ? "-" : "")).second) continue;
      Decision decision{&cell, false, ""};
      if (cell.not_run) {
        decision.why = "not run: " + *cell.not_run;
        decisions.push_back(decision);
        continue;
      }
      std::string problem;
      auto record = LoadRecord(options.out, cell.key, &problem);
      if (!problem.empty()) {
        log << "note: " << problem << "; it counts as not measured, and is set aside (.damaged) "
            << "when the cell is measured again\n";
      }
      if (record && !record->checked) {
        ++unchecked;
        record.reset();
      }
      const bool failed_before = record && !IsFinal(record->outcome.status);
      if (options.only_failed) {
        decision.measure = failed_before;
      } else {
        decision.measure = options.force || !record || failed_before;
      }
      decision.why = !record ? "not measured yet"
                             : fmt::format("stored ({}){}", record->outcome.status,
                                           options.force ? ", forced" : "");
      decisions.push_back(decision);
    }
  }
  if (unchecked > 0) {
    log << fmt::format(
        "note: {} cell{} of an earlier version, without a checksum, count{} as not measured\n",
        unchecked, unchecked == 1 ? "" : "s", unchecked == 1 ? "s" : "");
  }
  return decisions;
}

RunSummary Execute(const std::vector<Plan>& plans, const RunOptions& options, const Store& store,
                   const std::string& environment_hash, std::ostream& log, bool terminal) {
  const auto begun = Clock::now();
  RunSummary summary;
  std::vector<const PlannedCell*> todo, ours;
  int position = 0;
  for (const Decision& decision : Decide(plans, options, log)) {
    if (decision.cell->not_run) continue;
    if (!decision.measure) ++summary.reused;
    const bool mine = position++ % options.shards == options.shard;
    if (mine) ours.push_back(decision.cell);
    if (decision.measure && mine) todo.push_back(decision.cell);
  }
  DurationEstimator estimate;
  estimate.Expect(plans, options.profile);
  if (!todo.empty()) estimate.LearnFolder(options.out);
  SortCells(todo, options, estimate);
  Progress progress(log, terminal, todo.size(), summary.reused);
  interrupts = 0;
  const auto old_int = signal(SIGINT, OnInterrupt);
  const auto old_term = signal(SIGTERM, OnInterrupt);
  Campaign campaign(std::move(todo), options, store, environment_hash, estimate, progress);
  campaign.Run(summary);
  if (options.rounds > 1 && summary.left == 0) campaign.Interleave(ours, summary);
  if (options.budget_seconds > 0 && summary.left == 0) campaign.Remeasure(ours, summary);
  signal(SIGINT, old_int);
  signal(SIGTERM, old_term);
  progress.Done();
  summary.interrupted = interrupts > 0;
  if (summary.interrupted) return summary;
  std::set<std::string> counted;
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (!counted.insert(cell.key + (cell.not_run ? "-" : "")).second) continue;
      if (cell.not_run) {
        ++summary.counts["not_run"];
        continue;
      }
      const auto record = LoadRecord(options.out, cell.key);
      if (!record) continue;
      ++summary.counts[record->outcome.status];
      if (!IsFinal(record->outcome.status)) summary.problems.push_back(Describe(*record));
    }
  }
  summary.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return summary;
}

}  // namespace retable::harness
