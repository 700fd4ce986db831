#pragma once
//! @file
//! The error measures of quantile estimates.
//!
//! NIAE (Mitchell et al. 2021, eq. 14): the area between the estimated and the empirical quantile
//! function over the range of the data, by the trapezoid rule on 1000 points. It is an error in
//! value, hence small where the data repeat. The work also gives it as the area between the
//! distribution functions, and calls the two equal, which holds for monotone estimates only. Its
//! tables are the second form: the mean of |estimate - F| over 1000 even steps (three Legendre and
//! three Fourier maxima of its tables to the last digit; docs/lab/quantiles/016). The rank error is
//! the distance of phi from the interval of ranks that the answer occupies: with ties an answer
//! that is a data value occupies a whole interval, an answer between two data values a point.

#include <cstddef>
#include <span>
#include <vector>

namespace retable::quantiles {

inline constexpr std::size_t kNiaePoints = 1000;

//! phi_i = i / (points - 1), i = 0..points-1: the abscissae of eq. 14. points >= 2.
std::vector<double> NiaePhis(std::size_t points = kNiaePoints);

//! The empirical quantile: the element of rank floor(n phi), the last one for phi = 1. `sorted` is
//! ascending and not empty.
double EmpiricalQuantile(std::span<const double> sorted, double phi);

//! Eq. 14 for estimates at NiaePhis(estimates.size()). A constant column has no range: 0 if every
//! estimate equals the constant, infinity otherwise. NaN if an estimate is NaN.
//! @throws std::invalid_argument for fewer than 2 estimates or empty data.
double Niae(std::span<const double> sorted, std::span<const double> estimates);

//! x_i = low + i (high - low) / (points - 1): the abscissae of the second form. points >= 2.
std::vector<double> NiaePlaces(double low, double high, std::size_t points = kNiaePoints);

//! The second form for estimates of F at NiaePlaces(front, back, cdf.size()): the mean of
//! |cdf_i - F(x_i)|, F(x) the fraction of values up to x. NaN if an estimate is NaN.
//! @throws std::invalid_argument for fewer than 2 estimates or empty data.
double NiaeOfCdf(std::span<const double> sorted, std::span<const double> cdf);

//! Distance of phi from [rank_<(q), rank_<=(q)] / n: 0 if inside.
double IntervalRankError(std::span<const double> sorted, double phi, double q);

}  // namespace retable::quantiles
