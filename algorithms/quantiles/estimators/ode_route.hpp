#pragma once
//! @file
//! Quantiles of a density by the ODE route: y'(phi) = 1 / f(y), y(0) = -1.
//!
//! Mitchell et al. 2021, section 3.1: the quantile function solves this initial value problem, so a
//! stock solver gives all quantiles in one sweep. Boost.Odeint's Dormand-Prince 5(4) with dense
//! output does it here. Where the density is next to nothing y' is next to infinite and the steps
//! tiny; the density is floored at 1e-7, which moves the answers by at most that mass, and the
//! steps are limited, beyond which SketchFailure is thrown. Ten to a thousand times slower than
//! inverting the distribution function (max_entropy/density.hpp), which is therefore the default.

#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

namespace retable::quantiles {

//! Quantiles on [-1, 1] for ascending phis. @throws SketchFailure when the steps are spent.
std::vector<double> QuantilesByOde(const MaxEntropyDensity& density, std::span<const double> phis);

}  // namespace retable::quantiles
