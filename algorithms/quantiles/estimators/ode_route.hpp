#pragma once
//! @file
//! Quantiles of a density by the ODE route: y'(phi) = 1 / f(y), y(0) = -1.
//!
//! Mitchell et al. 2021, section 3.1: the quantile function solves this initial value problem, so
//! one sweep of a standard solver gives all quantiles: Boost.Odeint's Dormand-Prince 5(4) with
//! dense output. Where the density is near zero y' is huge and the steps tiny; so the density is
//! floored at 1e-7, which moves the answers by at most that mass, and the number of steps is
//! limited, beyond which SketchFailure is thrown. Ten to a thousand times slower than inverting the
//! distribution function (max_entropy/density.hpp), which is therefore the default.

#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

namespace retable::quantiles {

//! Quantiles on [-1, 1] for ascending phis. @throws SketchFailure when the limit of steps is
//! reached.
std::vector<double> QuantilesByOde(const MaxEntropyDensity& density, std::span<const double> phis);

}  // namespace retable::quantiles
