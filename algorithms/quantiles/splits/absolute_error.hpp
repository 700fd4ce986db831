#pragma once
//! @file
//! The split of a node with the least mean absolute error, by sketches: future work in the thesis.
//!
//! Problem: a regression tree under absolute error wants, for each threshold of a feature, the sums
//! of |y - median| of the labels on either side. Exact running medians need a heap or a tree of all
//! labels per side, which neither scan nor merge. Approach: divide the feature into bins of equal
//! counts, keep a sketch of the labels of each bin, and *scan* with the merge of sketches as the
//! operator, from the left and from the right. Each threshold then has two sketches; its impurity
//! is
//!     sum |y - m| = n times the integral of |Q(phi) - m| over phi, m = Q(1/2),
//! computed from the sketch's quantile function Q by the midpoint rule.
//!
//! Complexity: O(n) for the bins' sketches, 2 bins merges (0.2 to 0.3 us each), 2 bins fits in one
//! batch. Memory 184 bytes a bin and side. The scan is a loop; merges are associative, so that a
//! parallel scan is possible (Blelloch 1990).

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

struct AbsoluteSplit {
  double threshold = 0;  //!< values <= threshold go left
  //! Sum of |y - median of its side| over both sides; infinity where no threshold divides.
  double impurity = 0;
};

//! All thresholds, ascending, with their impurities: the upper edges of all bins but the last.
//! `x` and `y` are of equal length, finite, unordered. @throws std::invalid_argument for other
//! input, fewer than 2 values or bins, or an order not in 1..15.
std::vector<AbsoluteSplit> SplitsBySketch(std::span<const double> x, std::span<const double> y,
                                          std::size_t bins, int order, const DualSolver& solve);

//! The same thresholds with the exact impurities, by sorting: O(n log n) a threshold.
std::vector<AbsoluteSplit> SplitsExactly(std::span<const double> x, std::span<const double> y,
                                         std::size_t bins);

//! The exact impurity of a threshold. O(n log n).
double AbsoluteImpurity(std::span<const double> x, std::span<const double> y, double threshold);

//! The split of least impurity, the first of equals. @throws std::invalid_argument if there is
//! none.
AbsoluteSplit BestSplit(std::span<const AbsoluteSplit> splits);

}  // namespace retable::quantiles
