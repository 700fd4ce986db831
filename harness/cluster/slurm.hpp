#pragma once
//! @file
//! A run spread over a Slurm array: every task takes its shard, a last job measures what is left
//! and collects; both write into one results folder, which all nodes must see.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::harness {

struct SlurmRun {
  std::string program;             //!< this program, by a path that all nodes know
  std::vector<std::string> words;  //!< after `run`: "--name=value", and experiments
  std::string out;                 //!< results folder
  std::string options;    //!< sbatch's, parted by spaces; "--array=1-8" says how many tasks
  bool terminal = false;  //!< progress may overwrite its line
};

//! What is given to sbatch.
struct SlurmCommands {
  std::string array;    //!< command line of the array
  std::string collect;  //!< command line of the last job; the array's number follows
};
SlurmCommands MakeSlurmCommands(const SlurmRun& run);

//! "3/20" of a task's log: cells done and cells to measure; 0/0 where it has not begun.
struct TaskProgress {
  long done = 0, total = 0;
};
TaskProgress ProgressOfLog(const std::string& text);

//! Submits the array and its last job, unless those of an earlier call are still there, and follows
//! them. The last job's lines go to `out`, progress to `err`.
//! @return the last job's exit status; 130 when interrupted: the jobs go on
//! @throws std::runtime_error where sbatch refuses; StoreError for the folder
int RunOnSlurm(const SlurmRun& run, std::ostream& out, std::ostream& err);

}  // namespace retable::harness
