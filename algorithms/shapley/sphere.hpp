#pragma once
//! @file
//! Points on the sphere S^(d-2) as orders of d players.
//!
//! The d! rank vectors lie on a sphere in the hyperplane of sum zero. A point x of R^(d-1) is taken
//! into that hyperplane by the rows (1, .., 1, -k, 0, .., 0) / sqrt(k (k + 1)), and the order of
//! the coordinates of the result is the nearest permutation; the cells are of equal measure, so
//! uniform points give uniform permutations, and -x gives the reverse. O(d) plus a sort. Mitchell
//! et al. 2022, section 4.1, algorithm 2; Plis et al. 2010.

#include <cstdint>
#include <span>

namespace retable::shapley {

//! scores (d values of sum zero) = U' x for x of d - 1 values.
void ToHyperplane(std::span<const double> x, std::span<double> scores);

//! The nearest order of d = order.size() players to the point x of R^(d-1).
void NearestOrder(std::span<const double> x, std::span<std::int32_t> order);

//! The point of S^m for m angles' uniforms u in (0, 1), x of m + 1 values: angle j has density
//! proportional to sin^(m-1-j), found by the inverse incomplete beta function; the last is
//! 2 pi u. Uniform u give uniform points. Mitchell et al. 2022, section 4.3; Blumenson 1960.
void SphereFromCube(std::span<const double> u, std::span<double> x);

}  // namespace retable::shapley
