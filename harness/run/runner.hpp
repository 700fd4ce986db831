#pragma once
//! @file
//! Runs the cells of one or more plans: what is stored is not measured again, what fails is
//! recorded.

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/plan/estimate.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/groups.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {

struct RunOptions {
  std::string out = "results/latest";
  std::string profile = "quick";
  bool only_failed = false;  //!< only cells whose stored status is a failure
  bool force = false;        //!< measure again what is stored
  bool dry_run = false;
  int shard = 0, shards = 1;  //!< this process takes every shards-th cell, from shard on
  //! 0: none. Otherwise short cells come first, so that each is measured once; then, until it is
  //! spent, timed cells are measured again where their interval is widest
  //! (harness/run/remeasure.hpp).
  double budget_seconds = 0;
  //! Timed cells are measured in so many rounds, each in a process of its own, there and back again
  //! (A B C, C B A, ...), so that what drifts slowly hits all contenders alike; samples are pooled.
  int rounds = 1;
  int jobs = 0;                    //!< workers side by side for untimed cells; 0: one per core
  std::string program;             //!< path of this program, for the workers
  std::vector<std::string> cells;  //!< beginnings of keys: no other cell is measured; empty: all
  std::string plan_words;          //!< words that say which cells are planned
  //! Cells that a table compares are measured in one stretch (harness/run/groups.hpp): a group that
  //! was begun in another is begun anew, and none is begun that the budget is too short for.
  bool by_group = false;
  nlohmann::json environment;  //!< this run's
  //! 0: timed cells begin at once. Otherwise each waits until the machine is quiet
  //! (harness/machine/activity.hpp), all together so many seconds at most.
  double wait_quiet_seconds = 0;
};

//! How often each status occurred, over the cells of this run, and why cells have none: counts by
//! reason of those that were not run or were skipped.
using StatusCounts = std::map<std::string, int>;
using Reasons = std::map<std::string, StatusCounts>;

//! " (50: needs a CUDA device; 3: ...)", the commonest three; empty where there is no reason.
std::string ReasonsText(const StatusCounts& reasons);

//! "310 ok, 53 not_run (50: needs a CUDA device; 3: ...)".
std::string CountsText(const StatusCounts& counts, const Reasons& reasons);

//! What a run will do.
struct Schedule {
  std::vector<const PlannedCell*> todo;  //!< cells to measure, in this order
  std::vector<const PlannedCell*> ours;  //!< all of this shard that can be measured
  int reused = 0;                        //!< stored cells of this shard that are not measured again
  int passed_over = 0;                   //!< neither stored nor to be measured (--only failed)
  double again = 0;                      //!< seconds of the rounds that stored cells lack
  bool may_repeat = false;               //!< there are stored cells that may be measured once more
  std::map<std::string, std::string> groups;  //!< GroupsOf where they are kept together
  DurationEstimator estimate;
};

struct RunSummary {
  StatusCounts counts;  //!< this shard's cells after the run, and all that are not run
  Reasons reasons;
  int measured = 0;             //!< cells measured now
  int reused = 0;               //!< cells found in the store
  int left = 0;                 //!< cells not begun or not finished (budget)
  int passed_over = 0;          //!< cells neither stored nor to be measured (--only failed)
  int remeasured = 0;           //!< further executions of measured cells (budget, rounds)
  int few_rounds = 0;           //!< timed cells measured in fewer rounds than wanted
  int timed = 0, unsteady = 0;  //!< cells with a time, and those of them that are not steady
  double seconds = 0;
  bool interrupted = false;  //!< a signal came; then nothing is counted but `measured`
};

//! Adds a cell to counts and reasons and, where its time counts, to timed and unsteady.
void CountOutcome(const Outcome& outcome, bool timed, RunSummary& summary);

//! What would be done with each distinct cell of this shard, and with those that cannot be
//! measured. Files of other shards' cells are not opened: a thousand shards of a million cells
//! would read each file a thousand times.
std::vector<Decision> Decide(const std::vector<Plan>& plans, const RunOptions& options,
                             std::ostream& log);

//! What is to be measured, and how long its parts will take.
//! @param pace how many times longer than on a quiet machine cells take
Schedule MakeSchedule(const std::vector<Plan>& plans, const RunOptions& options, double pace,
                      std::ostream& log);

//! Seconds that the cells of a schedule from `first` on will take.
double SecondsLeft(const Schedule& schedule, const RunOptions& options, std::size_t first = 0);

//! Measures. Progress goes to `log`: a status line on a terminal, one line a cell elsewhere. A
//! first SIGINT or SIGTERM lets the cells in hand finish, and says so; a second stops them at once.
//! @param after seconds of what the run does after measuring, for the time left
RunSummary Execute(const std::vector<Plan>& plans, Schedule schedule, const RunOptions& options,
                   const Store& store, const std::string& environment_hash, double after,
                   std::ostream& log, bool terminal);

}  // namespace retable::harness
