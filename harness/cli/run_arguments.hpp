#pragma once
//! @file
//! Words of the command line with a grammar of their own: parts of a run, and times.

#include <string>

namespace retable::harness {

//! Which part of how many, from 1.
struct Shard {
  int index = 1, count = 1;
};

//! "2/4", or "auto": as Slurm or MPI numbers this process; empty: the whole. @throws ConfigError
Shard ParseShard(const std::string& text);

//! The time that an option is given: "10m", "90s", "1.5h" or plain seconds. @throws ConfigError
double ParseDuration(const std::string& option, const std::string& text);

}  // namespace retable::harness
