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
#include <string_view>

#include "harness/config/toml_tree.hpp"
#include "harness/machine/activity.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/run/groups.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/remeasure.hpp"
#include "harness/run/steadiness.hpp"
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
  return fmt::format("{}build/retable run {} --profile {}{} --cell {} --out results/repeat --force",
                     PlanVariables(), cell.config.experiment, options.profile, options.plan_words,
                     cell.key.substr(0, 12));
}

int JobsOf(const RunOptions& options) {
  return options.jobs > 0 ? options.jobs : AllowedProcessors();
}

// One worker and the cell it works on.
struct Slot {
  const PlannedCell* cell = nullptr;
  std::unique_ptr<Worker> worker;
  std::string started;
};

class Campaign {
 public:
  Campaign(Schedule schedule, const RunOptions& options, const Store& store,
           std::string environment_hash, double after, Progress& progress)
      : schedule_(std::move(schedule)),
        todo_(schedule_.todo),
        options_(options),
        store_(store),
        environment_(std::move(environment_hash)),
        after_(after),
        progress_(progress),
        begun_(Clock::now()),
        jobs_(JobsOf(options)) {}

  void Run(RunSummary& summary) {
    UpdateLeft();
    while (next_ < todo_.size() || !slots_.empty()) {
      const bool last = BudgetLeft() <= 0 || interrupts > 0;
      if (last && slots_.empty()) break;
      if (!last) Fill();
      Wait();
      if (StopNow()) break;
      Collect(summary);
      EndOverlong();
    }
    summary.left = static_cast<int>(todo_.size() - next_) + left_;
  }

  // Measures timed cells once more, as often as is wanted, or while there is time.
  void MeasureAgain(RunSummary& summary) {
    if (options_.rounds == 1 && options_.budget_seconds <= 0) return;
    std::vector<Remeasurable> all = Timed(options_.only_failed ? todo_ : schedule_.ours);
    if (options_.rounds > 1) Interleave(all, summary);
    Remeasurable* widest = nullptr;
    do {
      widest = options_.budget_seconds > 0 ? Widest(all) : nullptr;
    } while (widest != nullptr && Again(*widest, summary));
    summary.few_rounds = static_cast<int>(
        std::ranges::count_if(all, [this](const auto& r) { return FewRounds(r); }));
  }

 private:
  struct Remeasurable {
    const PlannedCell* cell;
    CellRecord record;
    double width;
    bool elsewhere;  // measured by another commit, on another machine, or before it was started
  };

  // Measures timed cells until each was measured in so many processes: back and forth, so that
  // contenders take turns.
  void Interleave(std::vector<Remeasurable>& all, RunSummary& summary) {
    for (std::int64_t round = 2; round <= options_.rounds; ++round) {
      std::ranges::reverse(all);
      for (Remeasurable& cell : all) {
        if (cell.elsewhere || cell.record.outcome.status != "ok" ||
            Executions(cell.record.outcome) >= round) {
          continue;
        }
        if (interrupts > 0 || cell.record.seconds > BudgetLeft() || !Again(cell, summary)) return;
      }
    }
  }

  bool FewRounds(const Remeasurable& cell) const {
    return cell.record.outcome.status == "ok" && Executions(cell.record.outcome) < options_.rounds;
  }

  double BudgetLeft() const {
    if (options_.budget_seconds <= 0) return 1e300;
    return options_.budget_seconds - std::chrono::duration<double>(Clock::now() - begun_).count();
  }

  // The cells that are timed, with what is stored of them. Samples of another stretch are not
  // pooled: says how many there are.
  std::vector<Remeasurable> Timed(const std::vector<const PlannedCell*>& cells) {
    std::vector<Remeasurable> all;
    Stretches runs(options_.out, options_.environment);
    int elsewhere = 0;
    for (const PlannedCell* cell : cells) {
      auto record = cell->exclusive ? LoadRecord(options_.out, cell->key) : std::nullopt;
      const auto width = record ? RelativeWidth(record->outcome) : std::nullopt;
      if (!width || !record->checked) continue;
      const std::string& device = cell->config.device;
      const bool is_elsewhere = runs.Of(record->environment, device) != runs.Here(device);
      all.push_back({cell, std::move(*record), *width, is_elsewhere});
      const bool wanted = options_.budget_seconds > 0 || FewRounds(all.back());
      elsewhere += all.back().elsewhere && wanted;
    }
    if (elsewhere > 0) {
      progress_.Say(fmt::format(
          "{} stored timed cell{} of another commit or machine, or from before the machine was "
          "started: not measured once more, since such times are not pooled (--force measures "
          "anew)",
          elsewhere, elsewhere == 1 ? " is" : "s are"));
    }
    return all;
  }

  // One more execution, pooled with those before; false when it was interrupted.
  bool Again(Remeasurable& cell, RunSummary& summary) {
    auto more = Once(*cell.cell);
    if (!more || (interrupts > 0 && more->outcome.status == "crash")) return false;
    JudgeSteadiness(more->outcome, cell.cell->config.device, ActivityOfCell());
    AddExecution(cell.record, more->outcome);
    store_.Save(cell.record);
    ++summary.remeasured;
    cell.width = RelativeWidth(cell.record.outcome).value_or(0);
    progress_.Remeasured(cell.record);
    return true;
  }

  // Asks for the duration of every cell that is left: a twentieth of the time at most.
  void UpdateLeft() {
    const auto begun = Clock::now();
    if (begun < next_update_) return;
    progress_.SetLeft(Left());
    next_update_ = Clock::now() + 20 * (Clock::now() - begun);
  }

  double Left() const {
    return std::min(SecondsLeft(schedule_, options_, next_), std::max(0.0, BudgetLeft())) + after_;
  }

  // The next to measure again: not narrow yet, short enough for what is left, not all too often.
  Remeasurable* Widest(std::vector<Remeasurable>& all) const {
    constexpr double kNarrow = 0.01;
    constexpr std::int64_t kMostExecutions = 30;
    Remeasurable* widest = nullptr;
    for (Remeasurable& r : all) {
      if (interrupts > 0 || r.elsewhere || r.width <= kNarrow || r.record.seconds > BudgetLeft() ||
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

  // A window too short to tell anything begins with the timed cells before it.
  Activity ActivityOfCell() {
    const ActivityReading now = ReadActivity();
    std::size_t first = begins_.size() - 1;
    while (first > 0 && now.wall - begins_[first].wall < kWindow) --first;
    last_ = ActivityBetween(begins_[first], now);
    return *last_;
  }

  // Before a timed cell, where the user wants it, unless the last one found the machine quiet.
  // `threads`: one that may run on several threads of the processor.
  void WaitUntilQuiet(bool threads) {
    const auto begun = Clock::now();
    double said = -1e9;
    while ((!last_ || last_->Busy(threads)) && interrupts == 0 &&
           waited_ < options_.wait_quiet_seconds) {
      last_ = WatchActivity(kWatch);
      const bool busy = last_->Busy(threads);
      const double here = std::chrono::duration<double>(Clock::now() - begun).count();
      const double rest = options_.wait_quiet_seconds - waited_ - here;
      if (!busy || rest <= 0) {
        waited_ += here;
        if (busy) progress_.Say("the machine did not become quiet: cells are measured and marked");
        return;
      }
      if (here - said < kSayAgain) continue;
      said = here;
      progress_.Say(fmt::format("waiting for a quiet machine, {} at most: {}", DurationText(rest),
                                last_->Text()));
    }
  }

  void Start(const PlannedCell& cell) {
    if (cell.exclusive) {
      if (options_.wait_quiet_seconds > 0) WaitUntilQuiet(cell.config.device == "cpu");
      begins_.push_back(ReadActivity());
    }
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
      progress_.Say(fmt::format("finishing {}, again to stop now", Running()));
    }
    if (interrupts < 2) return false;
    slots_.clear();
    return true;
  }

  // Ends what still runs when the budget is over by a tenth, so that a stretch ends when it should.
  void EndOverlong() {
    constexpr double kLeast = 10;  // seconds
    if (slots_.empty() || BudgetLeft() > -std::max(kLeast, options_.budget_seconds / 10)) return;
    progress_.Say(fmt::format("ended, for want of time: {}", Running()));
    left_ += static_cast<int>(slots_.size());
    slots_.clear();
  }

  std::string Running() const {
    const CellConfig& cell = slots_.front().cell->config;
    const std::size_t others = slots_.size() - 1;
    return fmt::format("{} {} on {}{}", cell.experiment, cell.label, cell.dataset,
                       others > 0 ? fmt::format(" and {} more", others) : "");
  }

  // Where a group begins that the budget is too short for, its end; else here.
  std::size_t AfterWhatIsTooLong() {
    const auto group = schedule_.groups.find(todo_[next_]->key);
    if (group == schedule_.groups.end() || group->second == begun_group_) return next_;
    double seconds = 0;
    std::size_t end = next_;
    for (; end < todo_.size(); ++end) {
      const auto other = schedule_.groups.find(todo_[end]->key);
      if (other == schedule_.groups.end() || other->second != group->second) break;
      seconds +=
          schedule_.estimate.Seconds(todo_[end]->config) * static_cast<double>(options_.rounds);
    }
    if (seconds <= BudgetLeft()) {
      begun_group_ = group->second;
      return next_;
    }
    progress_.Say(fmt::format("not begun, for want of time: {} cells of {}, about {}; {} are left",
                              end - next_, todo_[next_]->config.experiment, DurationText(seconds),
                              DurationText(std::max(0.0, BudgetLeft()))));
    left_ += static_cast<int>(end - next_);
    return end;
  }

  // An exclusive (timed) cell runs alone; the others fill the cores.
  void Fill() {
    while (next_ < todo_.size() && static_cast<int>(slots_.size()) < jobs_) {
      // What runs takes of the budget: it is looked at when nothing does.
      if (const std::size_t after = slots_.empty() ? AfterWhatIsTooLong() : next_; after != next_) {
        next_ = after;
        continue;
      }
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
    JudgeSteadiness(
        record.outcome, slot.cell->config.device,
        slot.cell->exclusive ? std::optional<Activity>(ActivityOfCell()) : std::nullopt);
    store_.Save(record);
    ++summary.measured;
    schedule_.estimate.Learn(record.config, record.seconds);
    UpdateLeft();
    progress_.Finished(record);
  }

  static constexpr int kPollMilliseconds = 10;
  // Seconds: of the shortest look back at the machine, of one look while waiting, between lines.
  static constexpr double kWindow = 0.5, kWatch = 1, kSayAgain = 30;

  Schedule schedule_;
  const std::vector<const PlannedCell*>& todo_;
  const RunOptions& options_;
  const Store& store_;
  std::string environment_;
  double after_;
  Progress& progress_;
  Clock::time_point begun_, next_update_{};
  int jobs_ = 1;
  std::size_t next_ = 0;
  int left_ = 0;             // begun cells and whole groups that the budget was too short for
  std::string begun_group_;  // the group whose cells are being measured
  std::vector<ActivityReading> begins_;  // of the timed cells
  std::optional<Activity> last_;         // what others did at the last look
  double waited_ = 0;                    // seconds, for a quiet machine
  bool told_ = false;                    // that the cells in hand are being finished
  std::vector<Slot> slots_;
};

// Untimed cells first, so that exclusive ones find an idle machine at a stretch. Under a budget the
// shortest first: most cells are measured before it is spent.
void SortCells(std::vector<const PlannedCell*>& cells, const RunOptions& options,
               const DurationEstimator& estimate) {
  if (options.budget_seconds > 0) {
    std::vector<std::pair<double, const PlannedCell*>> order;
    for (const PlannedCell* cell : cells) order.emplace_back(estimate.Seconds(cell->config), cell);
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::ranges::transform(order, cells.begin(), [](const auto& timed) { return timed.second; });
  } else {
    std::ranges::stable_sort(cells, {}, &PlannedCell::exclusive);
  }
}

// The cells of a group at a stretch, after those without one; the shortest groups first, since a
// budget may end before the longest.
void SortGroups(Schedule& schedule) {
  if (schedule.groups.empty()) return;
  std::map<std::string, double> seconds;
  const auto group_of = [&](const PlannedCell* cell) {
    const auto found = schedule.groups.find(cell->key);
    return found == schedule.groups.end() ? std::string() : found->second;
  };
  for (const PlannedCell* cell : schedule.todo) {
    if (const std::string group = group_of(cell); !group.empty()) {
      seconds[group] += schedule.estimate.Seconds(cell->config);
    }
  }
  std::ranges::stable_sort(schedule.todo, [&](const auto* a, const auto* b) {
    const std::string group_a = group_of(a), group_b = group_of(b);
    if (group_a == group_b) return false;
    return std::pair(seconds[group_a], group_a) < std::pair(seconds[group_b], group_b);
  });
}

// The distinct cells of this shard that can be measured, and all that cannot, in the plans' order.
std::vector<const PlannedCell*> DistinctCells(const std::vector<Plan>& plans,
                                              const RunOptions& options) {
  std::vector<const PlannedCell*> cells;
  std::set<std::pair<std::string_view, bool>> seen;
  const auto groups = options.by_group ? GroupsOf(plans) : std::map<std::string, std::string>();
  int position = 0;
  std::map<std::string, int> positions;  // of groups: a shard takes them whole
  const auto mine = [&](const PlannedCell& cell) {
    const auto group = groups.find(cell.key);
    if (group == groups.end()) return position++ % options.shards == options.shard;
    const auto [own, fresh] = positions.try_emplace(group->second, position);
    if (fresh) ++position;
    return own->second % options.shards == options.shard;
  };
  std::set<std::string> found;
  const auto wanted = [&](const std::string& key) {
    if (options.cells.empty()) return true;
    bool any = false;
    for (const std::string& beginning : options.cells) {
      if (!key.starts_with(beginning)) continue;
      found.insert(beginning);
      any = true;
    }
    return any;
  };
  for (const Plan& plan : plans) {
    for (const PlannedCell& cell : plan.cells) {
      if (!wanted(cell.key)) continue;
      if (!seen.emplace(cell.key, cell.not_run.has_value()).second) continue;
      if (cell.not_run || mine(cell)) cells.push_back(&cell);
    }
  }
  for (const std::string& beginning : options.cells) {
    if (found.contains(beginning)) continue;
    throw ConfigError({"--cell " + beginning, 0, 0},
                      "no cell of these experiments has a key that begins so; a key changes with "
                      "the profile, --set, the family's sources, the data and the GPU "
                      "(--dry-run prints those of now)");
  }
  return cells;
}

// What the folder holds of the cells after the run.
void CountCells(const std::vector<const PlannedCell*>& cells, const std::string& out,
                RunSummary& summary) {
  for (const PlannedCell* cell : cells) {
    if (cell->not_run) {
      CountOutcome({.status = "not_run", .reason = *cell->not_run}, false, summary);
    } else if (const auto record = LoadRecord(out, cell->key)) {
      CountOutcome(record->outcome, cell->exclusive, summary);
    }
  }
}

}  // namespace

void CountOutcome(const Outcome& outcome, bool timed, RunSummary& summary) {
  ++summary.counts[outcome.status];
  if (outcome.status == "skipped" || outcome.status == "not_run") {
    ++summary.reasons[outcome.status][outcome.reason];
  }
  if (!timed || !IsTimed(outcome)) return;
  ++summary.timed;
  summary.unsteady += !WhyUnsteady(outcome).empty();
}

std::string ReasonsText(const StatusCounts& reasons) {
  constexpr std::size_t kReasons = 3;
  if (reasons.empty()) return "";
  std::vector<std::pair<int, std::string>> order;
  int others = 0;
  for (const auto& [reason, n] : reasons) {
    order.emplace_back(n, reason);
    others += n;
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = " (";
  for (std::size_t i = 0; i < std::min(order.size(), kReasons); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", order[i].first, order[i].second);
    others -= order[i].first;
  }
  return text + (others > 0 ? fmt::format("; {} for other reasons)", others) : ")");
}

std::string CountsText(const StatusCounts& counts, const Reasons& reasons) {
  std::string text;
  for (const auto& [status, count] : counts) {
    const auto why = reasons.find(status);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, status,
                        why == reasons.end() ? "" : ReasonsText(why->second));
  }
  return text;
}

namespace {

// Each cell for itself.
std::vector<Decision> DecideEach(const std::vector<Plan>& plans, const RunOptions& options,
                                 std::ostream& log) {
  std::vector<Decision> decisions;
  int unchecked = 0;
  for (const PlannedCell* cell : DistinctCells(plans, options)) {
    Decision decision{.cell = cell};
    if (cell->not_run) {
      decision.why = "not run: " + *cell->not_run;
      decisions.push_back(decision);
      continue;
    }
    std::string problem;
    auto record = LoadRecord(options.out, cell->key, &problem);
    if (!problem.empty()) {
      log << "note: " << problem << "; it counts as not measured, and is set aside (.damaged) "
          << "when the cell is measured again\n";
    }
    if (record) decision.environment = record->environment;
    if (record && !record->checked) {
      ++unchecked;
      record.reset();
    }
    decision.stored = record.has_value();
    if (record && cell->exclusive && record->outcome.status == "ok") {
      decision.seconds = record->seconds;
      decision.executions = Executions(record->outcome);
    }
    const bool failed_before = record && !IsFinal(record->outcome.status);
    if (options.only_failed) {
      decision.measure = failed_before;
    } else {
      decision.measure = options.force || !record || failed_before;
    }
    decision.why = !record ? fmt::format("not measured yet{}",
                                         options.only_failed ? ", passed over (--only failed)" : "")
                           : fmt::format("stored ({}){}", record->outcome.status,
                                         options.force ? ", forced" : "");
    decisions.push_back(decision);
  }
  if (unchecked > 0) {
    log << fmt::format(
        "note: {} cell{} of an earlier version, without a checksum, count{} as not measured\n",
        unchecked, unchecked == 1 ? "" : "s", unchecked == 1 ? "s" : "");
  }
  return decisions;
}

}  // namespace

std::vector<Decision> Decide(const std::vector<Plan>& plans, const RunOptions& options,
                             std::ostream& log) {
  std::vector<Decision> decisions = DecideEach(plans, options, log);
  if (options.by_group && !options.only_failed) {
    KeepGroupsTogether(plans, options.out, options.environment, decisions);
  }
  return decisions;
}

Schedule MakeSchedule(const std::vector<Plan>& plans, const RunOptions& options, double pace,
                      std::ostream& log) {
  Schedule schedule;
  Stretches runs(options.out, options.environment);
  if (options.by_group) schedule.groups = GroupsOf(plans);
  for (const Decision& decision : Decide(plans, options, log)) {
    if (decision.cell->not_run) continue;
    schedule.ours.push_back(decision.cell);
    if (decision.measure) {
      schedule.todo.push_back(decision.cell);
      continue;
    }
    ++(decision.stored ? schedule.reused : schedule.passed_over);
    const bool wanted = !options.only_failed && (options.rounds > 1 || options.budget_seconds > 0);
    const std::string& device = decision.cell->config.device;
    if (!wanted || decision.executions == 0 ||
        runs.Of(decision.environment, device) != runs.Here(device)) {
      continue;
    }
    schedule.may_repeat = true;
    schedule.again += decision.seconds * static_cast<double>(std::max<std::int64_t>(
                                             0, options.rounds - decision.executions));
  }
  schedule.estimate.Expect(plans, options.profile);
  schedule.estimate.ExpectPace(pace);
  if (!schedule.todo.empty()) schedule.estimate.LearnFolder(options.out);
  SortCells(schedule.todo, options, schedule.estimate);
  SortGroups(schedule);
  return schedule;
}

// Untimed cells share the cores, timed ones have the machine to themselves.
double SecondsLeft(const Schedule& schedule, const RunOptions& options, std::size_t first) {
  double shared = 0, alone = 0;
  for (std::size_t i = first; i < schedule.todo.size(); ++i) {
    const PlannedCell& cell = *schedule.todo[i];
    (cell.exclusive ? alone : shared) += schedule.estimate.Seconds(cell.config);
  }
  const double all = shared / JobsOf(options) + alone * options.rounds + schedule.again;
  if (options.budget_seconds <= 0) return all;
  return alone > 0 || schedule.may_repeat ? options.budget_seconds
                                          : std::min(all, options.budget_seconds);
}

RunSummary Execute(const std::vector<Plan>& plans, Schedule schedule, const RunOptions& options,
                   const Store& store, const std::string& environment_hash, double after,
                   std::ostream& log, bool terminal) {
  const auto begun = Clock::now();
  RunSummary summary;
  summary.reused = schedule.reused;
  summary.passed_over = schedule.passed_over;
  Progress progress(log, terminal, schedule.todo.size());
  interrupts = 0;
  const auto old_int = signal(SIGINT, OnInterrupt);
  const auto old_term = signal(SIGTERM, OnInterrupt);
  Campaign campaign(std::move(schedule), options, store, environment_hash, after, progress);
  campaign.Run(summary);
  if (summary.left == 0) campaign.MeasureAgain(summary);
  signal(SIGINT, old_int);
  signal(SIGTERM, old_term);
  progress.Done();
  summary.interrupted = interrupts > 0;
  if (!summary.interrupted) CountCells(DistinctCells(plans, options), options.out, summary);
  summary.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return summary;
}

}  // namespace retable::harness
