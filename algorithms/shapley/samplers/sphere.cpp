#include "algorithms/shapley/samplers/sphere.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "algorithms/shapley/permutation_sampler.hpp"

namespace retable::shapley {

void ToHyperplane(std::span<const double> x, std::span<double> scores) {
  // Row k has k ones and then -k: coordinate j gets -j x_j plus all later rows.
  double later = 0;
  for (std::size_t j = scores.size(); j-- > 0;) {
    const auto k = static_cast<double>(j);
    const double scaled = j == 0 ? 0 : x[j - 1] / std::sqrt(k * (k + 1));
    scores[j] = later - k * scaled;
    later += scaled;
  }
}

void NearestOrder(std::span<const double> x, std::span<std::int32_t> order) {
  std::vector<double> scores(order.size());
  ToHyperplane(x, scores);
  OrderOfScores(scores, order);
}

namespace {

// The normal quantile of 2^-33 is -6.27.
constexpr double kWidest = 6.4;

// (1 - cos phi) / 2 has the beta distribution of equal shapes (m - j) / 2.
double Shape(std::size_t angles, std::size_t j) {
  return static_cast<double>(angles - j) / 2;
}

double CosineByInverse(double shape, double u) {
  if (shape == 1) return 1 - 2 * u;
  if (u == 0.5) return 0;  // by symmetry; Boost 1.74 finds no root there for shape 5
  return 1 - 2 * boost::math::ibeta_inv(shape, shape, u);
}

double NormalQuantile(double u) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
}

// The cosine's nearest singularity as a function of the quantile lies about pi sqrt(shape / 2) off
// the real line: the series' terms shrink the quicker, the larger the shape.
std::size_t TermsFor(double shape) {
  return static_cast<std::size_t>(std::ceil(5 + 22 / std::sqrt(shape)));
}

// Coefficients of T_1, T_3, ... of the cosine over [-kWidest, kWidest], by its values at the
// positive half of the 2 K Chebyshev points.
std::vector<double> CosineSeries(double shape) {
  const std::size_t terms = TermsFor(shape);
  const auto count = static_cast<double>(terms);
  std::vector<double> series(terms, 0.0);
  for (std::size_t k = 0; k < terms; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + 0.5) / (2 * count);
    const double z = kWidest * std::cos(angle);
    // At -z, where u is small and exact.
    const double value = -CosineByInverse(shape, std::erfc(z / std::numbers::sqrt2) / 2);
    for (std::size_t i = 0; i < terms; ++i) {
      series[i] += 2 * value * std::cos(angle * static_cast<double>(2 * i + 1)) / count;
    }
  }
  return series;
}

// Sum of c_i T_(2 i + 1)(t), by Clenshaw: T_(2 i + 3) = 2 T_2 T_(2 i + 1) - T_(2 i - 1).
double OddChebyshev(std::span<const double> c, double t) {
  const double two = 4 * t * t - 2;
  double next = 0, after = 0;
  for (std::size_t i = c.size(); i-- > 0;) {
    const double now = c[i] + two * next - after;
    after = next;
    next = now;
  }
  return t * (next - after);
}

}  // namespace

SphereFromCube::SphereFromCube(std::size_t angles, std::size_t points)
    : angles_(angles), series_(angles) {
  for (std::size_t j = 0; j + 2 < angles; ++j) {
    const double shape = Shape(angles, j);
    if (TermsFor(shape) < points) series_[j] = CosineSeries(shape);
  }
}

double SphereFromCube::Cosine(std::size_t angle, double u) const {
  const auto& series = series_[angle];
  if (series.empty()) return CosineByInverse(Shape(angles_, angle), u);
  const double cosine = OddChebyshev(series, NormalQuantile(u) / kWidest);
  return std::clamp(cosine, -1.0, 1.0);
}

void SphereFromCube::operator()(std::span<const double> u, std::span<double> x) const {
  double radius = 1;
  for (std::size_t j = 0; j + 1 < angles_; ++j) {
    const double cosine = Cosine(j, u[j]);
    x[j] = radius * cosine;
    radius *= std::sqrt(std::max(0.0, 1 - cosine * cosine));
  }
  const double angle = 2 * std::numbers::pi * u[angles_ - 1];
  x[angles_ - 1] = radius * std::cos(angle);
  x[angles_] = radius * std::sin(angle);
}

}  // namespace retable::shapley
