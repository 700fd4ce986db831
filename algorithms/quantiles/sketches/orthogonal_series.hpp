#pragma once
//! @file
//! The two-pass orthogonal series estimators: Chebyshev, cosine, Fourier, Hermite.
//!
//! Problem: a density from its expansion f = sum a_i g_i in functions orthogonal under a weight w,
//! with a_i = E[g_i(t) w(t)] / c_i estimated by a mean over the data (Mitchell et al. 2021, eqs. 9,
//! 10 and table 1). Approach: the first pass finds [min, max], the second maps the data affinely to
//! the series' domain and sums w g_i by the family's recurrence. Every g_i has an exact
//! antiderivative, so F is a series as well; quantiles are the first root of F(t) = phi met by
//! bracketed Newton, clamped to the range. Nothing shifts or rescales a negative density or a mass
//! that is not 1: the paper found that to cost accuracy.
//!
//! | series    | domain of the data | g_i              | w            | c_0, c_i          |
//! |-----------|--------------------|------------------|--------------|-------------------|
//! | Chebyshev | (-1, 1)            | T_i              | 1/sqrt(1-t^2)| pi, pi/2          |
//! | Cosine    | [0, pi]            | cos i t          | 1            | pi, pi/2          |
//! | Fourier   | [-pi, pi]          | cos i t, sin i t | 1            | 2 pi, pi          |
//! | Hermite   | [-s, s]            | He_i             | exp(-t^2/2)  | sqrt(2 pi) i!     |
//!
//! Two choices the paper leaves open are parameters. Chebyshev's weight is infinite at the ends,
//! where every column has its minimum and maximum: the data are mapped to [-1+margin, 1-margin].
//! Hermite functions live on about [-2 sqrt l, 2 sqrt l]: "scale" is s. Measurements:
//! docs/lab/quantiles/014-free-choices.md.
//!
//! Complexity: O(l) a value and one sine or square root; memory l + 3 numbers (Fourier 2 l + 3).
//! Merging needs equal bounds in the second pass. Deterministic.

#include <memory>
#include <string>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

enum class Series { kChebyshev, kCosine, kFourier, kHermite };

//! `extent` is the margin (Chebyshev) or the scale (Hermite); the others ignore it.
std::unique_ptr<QuantileSketch> MakeOrthogonalSeries(Series series, int order, double extent);

}  // namespace retable::quantiles
