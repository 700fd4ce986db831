#pragma once
//! @file
//! How far apart this machine puts two measurements of identical code.
//!
//! An A/A run measures the same cells twice with the same program, each time in a process of its
//! own. Whatever differs is noise: of clocks, neighbours, and of where memory lands. From the pairs
//! come the two numbers that the verdicts of harness/stats/significance.hpp need:
//!
//!   floor    98 of 100 ratios of medians come this near to 1, up or down
//!   margin   98 of 100 intervals of the ratio end this near to 1
//!
//! both a tenth larger than seen, since a finite run has not seen everything, and never below 1 %
//! and 3 %. How noisy a time is depends on how long it is: a cell is judged by the pairs whose
//! times are near its own (a factor of 4, and 60 pairs at least). Of many cells some come further:
//! for n comparisons both grow as a tail that falls exponentially does from one in 50 to one in 20
//! n, so that of 20 comparisons of two folders with equal code at most one calls any cell faster or
//! slower. `retable noise` keeps the pairs as noise.json in a results folder, where `retable
//! compare` looks for them; where none is, it measures them (harness/run/noise_stretch.hpp).

#include <span>
#include <string>
#include <vector>

#include "harness/stats/significance.hpp"

namespace retable::harness {

//! Samples of one cell from two executions of the same program.
struct SamePair {
  std::vector<double> first, second;
};

//! What a pair showed.
struct SeenNoise {
  double time = 0;    //!< median of the first
  double centre = 0;  //!< the ratio of medians is so far from 1, up or down
  double end = 0;     //!< the further end of its interval
};

struct Noise {
  double floor = SignificanceRule{}.noise_floor;  //!< over all pairs
  double margin = SignificanceRule{}.margin;
  double paired = SignificanceRule{}.noise_floor;  //!< floor of ratios from ABBA blocks
  int pairs = 0;                                   //!< 0: not measured, assumed
  std::string measured;                            //!< when, UTC
  std::vector<SeenNoise> seen;

  //! For a time of this length among so many comparisons. O(pairs log pairs).
  SignificanceRule Rule(double time, std::size_t comparisons = 1) const;
  SignificanceRule PairedRule() const;
};

//! @param paired ratios of whole cells from ABBA blocks of the same program
Noise MeasureNoise(std::span<const SamePair> pairs, std::span<const double> paired);

//! As JSON text, and back; an unreadable text, or one of a floor below 0, is the assumption.
std::string NoiseJson(const Noise& noise);
Noise NoiseFromJson(const std::string& text);

//! noise.json of a results folder, or the assumption.
Noise NoiseOfFolder(const std::string& folder);

//! The larger of both: two folders are compared by the noisier one.
Noise Larger(const Noise& a, const Noise& b);

//! What is assumed of a machine on which nothing could be measured: a laptop at work. Changes
//! below it are not called any.
Noise AssumedNoise();

//! "noise floor 1.4 % (A/A run of 2026-01-31T12:00:00Z, 40 pairs)", or what to type to measure it.
//! @param times that are compared at once: the floor is then "1.4 to 3.2 %" of the longest and the
//! shortest
std::string NoiseText(const Noise& noise, std::span<const double> times = {});

}  // namespace retable::harness
