#pragma once
//! @file
//! The one-pass moment sketches: an accumulator and an estimator.
//!
//! "ME-*" fits the maximum-entropy density, "Legendre-*" the Legendre series; "-central" and
//! "-naive" say how the sums are taken (moment_accumulator.hpp), "-log-" that they are of log x.
//!
//! When does a method fail (SketchFailure)? All: when the range or a sum overflows. None of them
//! knows how wrong an answer may be.
//! Legendre: when a Legendre moment is not finite or exceeds 1 by kMomentSlack, which is
//! impossible for exact moments. Maximum entropy: when a Chebyshev moment is not finite, or the
//! best density found misses some moment by more than kMaxResidual. Cancellation of raw sums causes
//! all of these, discrete data none. A stream of one value only is answered exactly by every
//! method.

#include <memory>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {

//! A maximum-entropy fit off by more than this in a Chebyshev moment is a failure, not an answer.
inline constexpr double kMaxResidual = 0.01;

//! A Legendre moment beyond 1 by more than this is a failure; rounding alone stays far below.
inline constexpr double kMomentSlack = 1e-3;

//! `log` says that the accumulator gathers log x.
std::unique_ptr<QuantileSketch> MakeMaxEntropySketch(std::unique_ptr<MomentAccumulator> moments,
                                                     bool log);
std::unique_ptr<QuantileSketch> MakeLegendreSketch(std::unique_ptr<MomentAccumulator> moments);

}  // namespace retable::quantiles
