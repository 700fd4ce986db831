#pragma once
//! @file
//! How long cells will take, from how long their like took.
//!
//! Three sources, the nearest first: the same cell (whatever sources it was built from), the mean
//! of its row (same experiment and label), the mean of its experiment. Before anything of an
//! experiment was measured, the share of the time that its TOML expects of the profile.

#include <map>
#include <string>

#include "harness/plan/plan.hpp"

namespace retable::harness {

class DurationEstimator {
 public:
  //! What a cell took.
  void Learn(const CellConfig& cell, double seconds);
  //! The same of every record of a results folder, also of those that other sources measured.
  void LearnFolder(const std::string& folder);
  //! What the experiments expect of this profile.
  void Expect(const std::vector<Plan>& plans, const std::string& profile);

  //! Seconds, or 0 when nothing is known.
  double Seconds(const CellConfig& cell) const;

 private:
  struct Mean {
    double sum = 0;
    int n = 0;
    void Add(double x) { sum += x, ++n; }
  };
  std::map<std::string, double> cells_;
  std::map<std::string, Mean> rows_, experiments_;
  std::map<std::string, double> expected_;
};

//! What a cell is, whatever it is called and whatever sources measured it.
std::string CellIdentity(const CellConfig& cell);

}  // namespace retable::harness
