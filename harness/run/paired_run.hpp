#pragma once
//! @file
//! Two programs measured in turns: the same cells by the old program and by the new one, each
//! execution in a process of its own, in the order old, new, new, old.
//!
//! What drifts slowly (heat, neighbours) hits both sides of such a block alike and cancels in its
//! ratio, so that a smaller change is seen than between two results folders. The same program on
//! both sides is an A/A run: it measures the noise floor (harness/stats/noise.hpp).

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/report/compare.hpp"
#include "harness/stats/noise.hpp"

namespace retable::harness {

struct PairedRunOptions {
  std::string old_program, new_program;
  int min_blocks = 6;   //!< fewer have no 95 % interval
  int max_blocks = 20;  //!< sampling goes on while the verdict is "ambiguous"
  SignificanceRule rule;
};

struct PairedRun {
  Comparison comparison;
  std::vector<SamePair> separate;  //!< one pair a block, as two folders would hold them
  std::vector<double> ratios;      //!< new / old of each cell
};

//! Measures the timed (exclusive) cells of the plans. Progress goes to `log`.
PairedRun RunPaired(const std::vector<Plan>& plans, const PairedRunOptions& options,
                    std::ostream& log);

//! What of a commit is built.
struct CommitBuild {
  std::vector<std::string> families;
  bool cuda = true;  //!< false: without the CUDA backends, which take most of the time
};

//! Whether any cell of the plans runs on a GPU here.
bool RunsOnGpu(const std::vector<Plan>& plans);

//! Builds a commit of the repository at `root` and returns the path of its program. Kept under
//! build/commits/<hash>, so that a second call builds nothing; "." is `this_program`.
//! @throws ConfigError when git does not know the commit or the build fails
std::string BuildCommit(const std::string& root, const std::string& commit,
                        const CommitBuild& build, const std::string& this_program,
                        std::ostream& log);

}  // namespace retable::harness
