#pragma once
//! @file
//! How far the sums of two ways to take one stream are apart.

#include <cmath>
#include <limits>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Largest difference of two streams' moments; infinite where a count or a bound differs or a
//! moment is NaN. Of a stream with an infinite value nothing else is known.
inline double MomentDifference(ChebyshevSums found, const ChebyshevSums& exact, int order) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isinf(found.min) || std::isinf(found.max)) return 0;
  if (found.sum[0] != exact.sum[0]) return kInfinity;
  if (exact.sum[0] == 0) return 0;
  if (found.min != exact.min || found.max != exact.max || found.at_min != exact.at_min ||
      found.at_max != exact.at_max) {
    return kInfinity;
  }
  found.MoveTo(exact.map, order);
  double worst = 0;
  for (int k = 1; k <= order; ++k) {
    const double error = std::abs(found.sum[k] - exact.sum[k]) / exact.sum[0];
    if (!(error <= worst)) worst = std::isnan(error) ? kInfinity : error;
  }
  return worst;
}

}  // namespace retable::quantiles
