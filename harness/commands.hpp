#pragma once
//! @file
//! The verbs of the program, without their command line (apps/retable.cpp parses that).
//!
//! Every verb writes to the streams it is given and returns the exit code:
//! 0 ok; 1 usage or configuration; 2 some cell failed; 3 wrong result; 4 a verdict or claim failed
//! under --strict; 6 nothing to run.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/plan.hpp"

namespace retable::harness {

enum ExitCode {
  kOk = 0,
  kUsage = 1,
  kCellFailed = 2,
  kWrongResult = 3,
  kVerdictFailed = 4,
  kSlower = 5,
  kNothingToRun = 6,
};

//! What the program knows about itself and its surroundings.
struct Context {
  std::string root;     //!< folder that holds experiments/, plots/ and results/recorded/
  std::string program;  //!< path of this program
  bool terminal = false;
  bool colour = false;
  //! Sentences for the top of the report (no network, no GPU); may be empty.
  std::function<std::vector<std::string>()> banner;
};

struct RunArguments {
  std::vector<std::string> globs;
  std::string profile = "quick";
  std::string device = "auto";
  std::string out = "results/latest";
  std::vector<std::string> assignments;
  std::string machine_file;
  std::int64_t repeats = 0;
  bool only_failed = false, force = false, dry_run = false;
  std::string shard;   //!< "i/n", or "auto": from the environment of Slurm or MPI
  std::string budget;  //!< "10m"
  int rounds = 1;
  int jobs = 0;
  std::string command_line;  //!< as typed, for run.json
};

int ListCommand(const Context& context, bool json, bool fields, bool protocols, std::ostream& out);
int RunCommand(const Context& context, const RunArguments& arguments, std::ostream& out,
               std::ostream& err);
//! Two programs or commits in turns (harness/paired_run.hpp). `sides` are "old" and "new": paths of
//! programs, or commits of the repository at context.root.
struct PairedArguments {
  std::string old_side, new_side;
  bool commits = false;  //!< else programs
  int blocks = 20;
  bool strict = false;
};
int PairedCommand(const Context& context, const RunArguments& arguments,
                  const PairedArguments& paired, std::ostream& out, std::ostream& err);
//! The A/A run: this program against itself; leaves noise.json in the results folder.
int NoiseCommand(const Context& context, const RunArguments& arguments, int blocks,
                 std::ostream& out, std::ostream& err);
int CheckCommand(const std::string& folder, bool strict, std::ostream& out);
int ReportCommand(const Context& context, const std::string& folder, std::ostream& out,
                  std::ostream& err);
int ExplainCommand(const std::string& folder, const std::string& key_prefix, std::ostream& out,
                   std::ostream& err);

//! Which part of how many, from 1: "2/4", or "auto". @throws ConfigError
struct Shard {
  int index = 1, count = 1;
};
Shard ParseShard(const std::string& text);

//! "10m", "90s", "1.5h" or plain seconds. @throws ConfigError
double ParseDuration(const std::string& text);

}  // namespace retable::harness
