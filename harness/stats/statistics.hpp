#pragma once
//! @file
//! What is said of a set of samples: centre, spread, and how sure.
//!
//! Times have long right tails and accuracies are rarely normal, so the centre is the median and
//! the intervals assume no distribution:
//!
//!  * median, n <= 5000: percentile bootstrap (Efron 1979), 2000 resamples. For n below about 6 no
//!    distribution-free interval can reach 95 %; then it spans the samples, and says no more.
//!  * median, n > 5000: the exact order-statistic interval. The number of samples below the true
//!    median is Binomial(n, 1/2), so [x_(k+1), x_(n-k)] with P(Bin <= k) <= 2.5 % covers it with at
//!    least 95 % (David and Nagaraja 2003, section 7.1). O(n) instead of O(2000 n).
//!  * mean: percentile bootstrap up to n = 5000, beyond it mean +- 1.96 std / sqrt(n), by then the
//!    same thing. Paper tables report means, so means get intervals as well.
//!  * ratio of two contenders: from blocks in which both ran (ABBA), as the median of the blocks'
//!    ratios, bootstrapped over blocks: what drifts slowly hits both sides of a block and cancels
//!    (Kalibera and Jones 2013). Without blocks: the ratio of medians, both sides resampled.
//!
//! One sample has no interval: low = high = the sample. Quantiles are of type 7 of Hyndman and Fan
//! (1996), the default of R and NumPy: linear between order statistics, x_(1) at 0 and x_(n) at 1.
//! A NaN sample is a failure: counted, and in no statistic. Infinities are values. Undefined
//! results (no sample; the spread of one) are NaN. Outliers are kept.
//!
//! Deterministic: resampling draws from a counter-based generator, a pure function of (seed, draw),
//! and samples are sorted first, so their order does not matter except in blocks.

#include <cstdint>
#include <span>
#include <vector>

namespace retable::harness {

//! How an interval was found.
enum class IntervalMethod { kNone, kPoint, kBootstrap, kOrderStatistic, kNormal };

struct Interval {
  double estimate;
  double low, high;  //!< 95 %
  IntervalMethod method;
};

struct Summary {
  std::int64_t n = 0;         //!< samples that are numbers
  std::int64_t failures = 0;  //!< NaN samples
  double median, ci_low, ci_high;
  double mean;
  double std;  //!< sample standard deviation (divisor n - 1)
  double min, max;
};

//! @param seed of the resampling
Summary Summarise(std::span<const double> samples, std::uint64_t seed);

//! Quantile of type 7 of ascending, NaN-free values. NaN when there are none.
//! @param fraction in [0, 1]
double SortedQuantile(std::span<const double> ascending, double fraction);
//! The same of values in any order; NaNs are left out. O(n log n).
double Quantile(std::span<const double> samples, double fraction);

//! Median with its 95 % interval. NaNs are left out.
Interval MedianInterval(std::span<const double> samples, std::uint64_t seed);
//! Median with the exact order-statistic interval that misses the true one with a probability of at
//! most `error`; without an interval (kNone) where there are too few samples for that: below
//! log2(2 / error). NaNs are left out.
Interval MedianBounds(std::span<const double> samples, double error);
//! Mean with its 95 % interval. NaNs are left out.
Interval MeanInterval(std::span<const double> samples, std::uint64_t seed);

//! One interleaved block of a paired comparison: each side's time in it (the mean of its runs).
struct PairedBlock {
  double a, b;
};

//! a / b with its 95 % interval over blocks. Blocks with a NaN or a b of 0 are left out.
Interval PairedRatio(std::span<const PairedBlock> blocks, std::uint64_t seed);
//! median(a) / median(b) with its 95 % interval, for samples that were not taken in pairs.
Interval RatioOfMedians(std::span<const double> a, std::span<const double> b, std::uint64_t seed);

//! Drift: median of the last third over median of the first third, minus 1 (samples in the order
//! they were taken). 0 for fewer than nine samples, too few to tell.
double Drift(std::span<const double> samples);

}  // namespace retable::harness
