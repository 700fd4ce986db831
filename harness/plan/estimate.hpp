#pragma once
//! @file
//! How long a run will take: the one forecast behind `list`, the first line of a run and the time
//! left.
//!
//! An experiment's TOML says what it takes in a profile, alone, on two quiet processors, with all
//! that its cells do: reading data, training models, checking, timing (tools/expected.py measures
//! it). Its cells have equal shares of that. A cell that was measured before takes what it took;
//! what the first cells of an experiment save is left for the others, so that cheap cells at the
//! start do not shorten the forecast, and the pace of finished experiments stretches the rest.
//! Cells on a GPU are not part of that: two seconds each (1.2 on an H100), until the row is known.
//! Without an expectation the mean of the row (same experiment and label) counts, then that of the
//! experiment, then that of all, then a second.

#include <map>
#include <string>
#include <unordered_map>

#include "harness/plan/plan.hpp"

namespace retable::harness {

//! Processors that the expectations of the TOMLs are for.
inline constexpr int kExpectedProcessors = 2;

class DurationEstimator {
 public:
  //! What the experiments expect of this profile.
  void Expect(const std::vector<Plan>& plans, const std::string& profile);
  //! How many times longer than on a quiet machine cells take, until measured cells tell.
  void ExpectPace(double pace) { pace_ = pace; }
  //! What a cell took, now.
  void Learn(const CellConfig& cell, double seconds);
  //! What the records of a results folder took, also those that other sources measured: up to ten
  //! thousand of them, as they come.
  void LearnFolder(const std::string& folder);

  //! Seconds of one worker, at the pace so far; always above 0.
  double Seconds(const CellConfig& cell) const;

 private:
  struct Mean {
    double sum = 0;
    int n = 0;
    void Add(double x) { sum += x, ++n; }
    double Value() const { return sum / n; }
  };
  //! An experiment's expectation, in seconds of one worker, and what is known of its cells.
  struct Expectation {
    double total = 0;
    int cells = 0;
    Mean known;
  };
  void Remember(const CellConfig& cell, double seconds);
  double Pace() const;

  // By the hash of CellIdentity, whose text is too long for a million cells.
  std::unordered_map<std::size_t, double> cells_;
  std::map<std::string, Mean> rows_, experiments_;
  Mean all_;
  std::map<std::string, Expectation> expected_;
  std::unordered_map<std::size_t, std::string> experiment_of_;  //!< planned cell -> experiment
  double pace_ = 1, took_ = 0, forecast_ = 0;                   //!< seconds of cells measured now
};

//! Seconds that a run of all these takes in a profile as the TOMLs expect it: cells that several
//! share count once. @throws ConfigError
double ExpectedSeconds(const std::vector<Experiment>& experiments, const std::string& profile);

//! Seconds that writing tables and verdicts takes, and with `report` the figures and the page.
double WritingSeconds(std::size_t artifacts, bool report);

//! What a cell is, whatever it is called and whatever sources measured it.
std::string CellIdentity(const CellConfig& cell);

}  // namespace retable::harness
