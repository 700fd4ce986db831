#pragma once
//! @file
//! Faster, slower or the same? The decision on a ratio of two times, and what to do next.
//!
//! With the ratio new / old and its 95 % interval [low, high], a noise floor f (what the machine
//! does to identical code, 1 % unless measured by an A/A run) and a margin m (3 %: what is not
//! worth acting on):
//!
//!   slower       low > 1 + f: the whole interval is beyond the noise
//!   faster       high < 1 / (1 + f)
//!   same         the interval meets [1 / (1 + f), 1 + f] and lies within [1 / (1 + m), 1 + m]: no
//!                difference is seen, and one that mattered would have been
//!   not steady   none of these, or slower or faster, but either side was disturbed while it was
//!                measured: it drifted (last third against first) by more than 10 % and than f, or
//!                its cell says that it was not steady
//!   ambiguous    anything else: too few or too noisy samples; one sample a side always is
//!
//! Every verdict comes with the next command to type.

#include <span>
#include <string>
#include <string_view>

#include "harness/stats/statistics.hpp"

namespace retable::harness {

enum class Significance { kFaster, kSlower, kSame, kAmbiguous, kNotSteady };
//! "faster", "slower", "same", "ambiguous", "not steady".
std::string_view Name(Significance significance);

struct SignificanceRule {
  double noise_floor = 0.01;
  double margin = 0.03;
  double unsteady = 0.10;
};

//! @param ratio new time / old time
Significance Decide(const Interval& ratio, bool steady, const SignificanceRule& rule = {});

//! Of two sets of times taken apart from each other, in the order they were taken.
struct TimesCompared {
  Interval ratio;  //!< new / old
  Significance significance;
};
//! @param steady neither side says otherwise of itself
TimesCompared CompareTimes(std::span<const double> old_times, std::span<const double> new_times,
                           const SignificanceRule& rule = {}, bool steady = true);

//! What to do about a verdict: a sentence, with a command where there is one.
//! @param experiment its id, for the command
//! @param in_turns two programs were measured in turns: more of that is another number of blocks
std::string NextStep(Significance significance, const std::string& experiment,
                     bool in_turns = false);

}  // namespace retable::harness
