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

#include "algorithms/shapley/samplers/elementary.hpp"

namespace retable::shapley {

//! scores (d values of sum zero) = U' x for x of d - 1 values. Values lie `stride` apart; the two
//! may be the same array.
RETABLE_HD void ToHyperplane(const double* x, double* scores, std::size_t d, std::size_t stride) {
  // Row k has k ones and then -k: coordinate j gets -j x_j plus all later rows.
  double later = 0;
  for (std::size_t j = d; j-- > 1;) {
    const auto k = static_cast<double>(j);
    const double scaled = x[(j - 1) * stride] / sqrt(k * (k + 1));
    scores[j * stride] = AddProduct(later, -k, scaled);
    later += scaled;
  }
  scores[0] = later;
}

//! The nearest order of d = order.size() players to the point x of R^(d-1).
void NearestOrder(std::span<const double> x, std::span<std::int32_t> order);

//! A point of S^m in place: x holds the cosines of m - 1 angles and the last angle's turn, then the
//! m + 1 coordinates. Values lie `stride` apart. Blumenson 1960.
RETABLE_HD void OntoSphere(double* x, std::size_t angles, std::size_t stride) {
  double radius = 1;
  for (std::size_t j = 0; j + 1 < angles; ++j) {
    const double cosine = x[j * stride];
    x[j * stride] = radius * cosine;
    const double square = AddProduct(1, -cosine, cosine);
    radius *= sqrt(square > 0 ? square : 0);
  }
  const Direction last = DirectionOf(x[(angles - 1) * stride]);
  x[(angles - 1) * stride] = radius * last.cosine;
  x[angles * stride] = radius * last.sine;
}

constexpr double kWidestQuantile = 6.4;  //!< beyond the least, -6.27 of 2^-33

//! The sum of c_i T_(2 i + 1) at the normal quantile of u over the widest, cut to [-1, 1].
RETABLE_HD double CosineBySeries(const double* c, std::size_t terms, double u) {
  const double t = NormalQuantile(u) / kWidestQuantile;
  // By Clenshaw: T_(2 i + 3) = 2 T_2 T_(2 i + 1) - T_(2 i - 1).
  const double two = AddProduct(-2, 4 * t, t);
  double next = 0, after = 0;
  for (std::size_t i = terms; i-- > 0;) {
    const double now = AddProduct(c[i], two, next) - after;
    after = next;
    next = now;
  }
  const double cosine = t * (next - after);
  return cosine < -1 ? -1 : cosine > 1 ? 1 : cosine;
}

//! Angles of S^m from uniforms: the cosine of angle j has density proportional to
//! (1 - x^2)^((m-2-j)/2), found by the inverse incomplete beta function. Uniform u give uniform
//! points. Mitchell et al. 2022, section 4.3.
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
  //! Of one angle but the last.
  double Cosine(std::size_t angle, double u) const;

  //! Whether series give all cosines; the last but one of all is 1 - 2 u.
  bool complete() const { return complete_; }
  //! The terms of angle j lie from start()[j] to start()[j + 1]; none: the inverse is taken.
  std::span<const double> terms() const { return terms_; }
  std::span<const std::uint32_t> start() const { return start_; }

 private:
  std::size_t angles_;
  std::vector<double> terms_;
  std::vector<std::uint32_t> start_;
  bool complete_ = true;
};

}  // namespace retable::shapley
