#pragma once
//! @file
//! Points on the sphere S^(d-2) as orders of d players.
//!
//! The d! rank vectors lie on a sphere in the hyperplane of sum zero. A point x of R^(d-1) is taken
//! into that hyperplane by the rows (1, .., 1, -k, 0, .., 0) / sqrt(k (k + 1)), and the order of
//! the coordinates of the result is the nearest permutation; the cells are of equal measure, so
//! uniform points give uniform permutations, and -x gives the reverse. O(d) plus a sort. Mitchell
//! et al. 2022, section 4.1, algorithm 2; Plis et al. 2010.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retable::shapley {

//! scores (d values of sum zero) = U' x for x of d - 1 values.
void ToHyperplane(std::span<const double> x, std::span<double> scores);

//! The nearest order of d = order.size() players to the point x of R^(d-1).
void NearestOrder(std::span<const double> x, std::span<std::int32_t> order);

//! Points of S^m from m angles' uniforms: angle j has density proportional to sin^(m-1-j), found by
//! the inverse incomplete beta function; the last is 2 pi u. Uniform u give uniform points.
//! Mitchell et al. 2022, section 4.3; Blumenson 1960.
//!
//! The inverse is what costs (2 to 8 us). As a function of the normal quantile of u the cosine of
//! an angle is odd and nearly straight, so where many points are asked for it is kept as an odd
//! Chebyshev series for each angle, of 7 to 23 terms, each of which costs one inverse.
class SphereFromCube {
 public:
  //! @param points how many will be asked for: series are made where they pay.
  SphereFromCube(std::size_t angles, std::size_t points);
  //! x (angles + 1 values) for u (angles values in [2^-33, 1 - 2^-33]). Within 1e-11 of the
  //! inverse.
  void operator()(std::span<const double> u, std::span<double> x) const;

 private:
  double Cosine(std::size_t angle, double u) const;

  std::size_t angles_;
  std::vector<std::vector<double>> series_;  //!< one an angle; empty: the inverse is taken
};

}  // namespace retable::shapley
