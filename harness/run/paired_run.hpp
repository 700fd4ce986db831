#pragma once
//! @file
//! Two programs measured in turns: the same cells by the old program and by the new one, each
//! execution in a process of its own, in the order old, new, new, old.
//!
//! What drifts slowly (heat, neighbours) hits both sides of such a block alike and cancels in its
//! ratio, so that a smaller change is seen than between two results folders. The same program on
//! both sides is an A/A run: it measures the noise floor (harness/stats/noise.hpp).
//!
//! Every comparison has an A/A run of its own in it. The ratio of a block is (B1 + B2) / (A1 + A2);
//! (A1 + B2) / (B1 + A2) is made of the same executions and holds each program on either side, so
//! that only noise moves it. Where no floor is stored, its median over the cell's blocks is the
//! floor, and one and a half times the far end of its interval the margin.
//!
//! Blocks are looked at a few times (after every third more), and many cells are compared: the
//! interval of a look misses with a probability of 5 % over cells and looks, so that of 20
//! comparisons of equal programs at most one calls any cell faster or slower. One cell needs 7
//! blocks for that, 16 cells 11, a thousand 17.

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/cli/context.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/compare.hpp"
#include "harness/stats/noise.hpp"

namespace retable::harness {

struct PairedRunOptions {
  std::string old_program, new_program;
  int max_blocks = 20;      //!< sampling goes on while the verdict is "ambiguous"
  bool all_blocks = false;  //!< none is spared where the verdict is clear
  SignificanceRule rule;
};

struct PairedRun {
  Comparison comparison;
  std::vector<SamePair> separate;  //!< one pair a block, as two folders would hold them
  std::vector<double> ratios;      //!< new / old of each cell
  double floor = 0;                //!< the largest of a cell
};

//! Measures the timed (exclusive) cells of the plans. Progress goes to `log`.
PairedRun RunPaired(const std::vector<Plan>& plans, const PairedRunOptions& options,
                    std::ostream& log);

//! What of a commit is built.
struct CommitBuild {
  std::vector<std::string> families;
  bool cuda = true;  //!< false: without the CUDA backends, which take most of the time
};

//! Why no cell of the plans is timed here; empty where one is.
std::string WhyNothingIsTimed(const std::vector<Plan>& plans);

//! Whether any cell of the plans runs on a GPU here.
bool RunsOnGpu(const std::vector<Plan>& plans);

//! Builds a commit of the context's source tree and returns the path of its program; "." is the
//! program at hand. Kept under build/commits/<hash>-<families>: a second call builds nothing, nor
//! does one for fewer families, and an interrupted build goes on. Progress goes to `log`.
//! @throws ConfigError when git does not know the commit or the build fails
std::string BuildCommit(const Context& context, const std::string& commit, const CommitBuild& build,
                        std::ostream& log);

}  // namespace retable::harness
