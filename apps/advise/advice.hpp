#pragma once
//! @file
//! Which estimator of Shapley values to take: a recommendation read off measured errors.
//!
//! The measurements are the artifact beyond_estimators, kept as apps/advise/advice_table.inc by
//! write_advice.py: for each data set, number of background rows and number of coalitions each
//! method's mean squared error. For a question (d, m) every measured place counts by its nearness,
//! exp(-(log2 d'/d)^2 - (log2 r'/r)^2) with r = m / d, and a method's score is the weighted
//! geometric mean of its error over the least error at that place. The least score is advised.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retable::experiments {

struct MeasuredError {
  const char* dataset;
  int features;
  int background;
  int per_player;  //!< different coalitions allowed, over features
  const char* method;
  double mse;
  double seconds;  //!< one estimate takes this long
};

//! All rows of the committed table.
std::span<const MeasuredError> MeasuredErrors();

struct Advice {
  std::string method;
  double score = 0;    //!< 1: the best at every near place
  double seconds = 0;  //!< one estimate takes this long at the nearest measured place
};

//! Methods from the best to the worst. `background` 0: both numbers of rows alike. Methods that
//! were not measured at every near place are left out. @throws std::invalid_argument for
//! features < 1 or evaluations < features + 1.
std::vector<Advice> Advise(std::span<const MeasuredError> table, int features,
                           std::int64_t evaluations, int background);

}  // namespace retable::experiments
