#include "algorithms/shapley/samplers/sphere.hpp"

#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "algorithms/shapley/permutation_sampler.hpp"

namespace retable::shapley {

void NearestOrder(std::span<const double> x, std::span<std::int32_t> order) {
  std::vector<double> scores(order.size());
  ToHyperplane(x.data(), scores.data(), scores.size(), 1);
  OrderOfScores(scores, order);
}

namespace {

// (1 - cos phi) / 2 has the beta distribution of equal shapes (m - j) / 2.
double Shape(std::size_t angles, std::size_t j) {
  return static_cast<double>(angles - j) / 2;
}

double CosineByInverse(double shape, double u) {
  if (shape == 1) return 1 - 2 * u;
  if (u == 0.5) return 0;  // by symmetry; Boost 1.74 finds no root there for shape 5
  return 1 - 2 * boost::math::ibeta_inv(shape, shape, u);
}

// The cosine's nearest singularity as a function of the quantile lies about pi sqrt(shape / 2) off
// the real line: the series' terms shrink the quicker, the larger the shape.
std::size_t TermsFor(double shape) {
  return static_cast<std::size_t>(std::ceil(5 + 22 / std::sqrt(shape)));
}

// Coefficients of T_1, T_3, ... of the cosine over +-kWidestQuantile, by its values at the
// positive half of the 2 K Chebyshev points.
std::vector<double> MakeSeries(double shape) {
  const std::size_t terms = TermsFor(shape);
  const auto count = static_cast<double>(terms);
  std::vector<double> series(terms, 0.0);
  for (std::size_t k = 0; k < terms; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + 0.5) / (2 * count);
    const double z = kWidestQuantile * std::cos(angle);
    // At -z, where u is small and exact.
    const double value = -CosineByInverse(shape, std::erfc(z / std::numbers::sqrt2) / 2);
    for (std::size_t i = 0; i < terms; ++i) {
      series[i] += 2 * value * std::cos(angle * static_cast<double>(2 * i + 1)) / count;
    }
  }
  return series;
}

// Series depend on the shape alone and are kept while the program runs: of few points they cost
// most.
std::vector<double> CosineSeries(double shape) {
  static std::mutex mutex;
  static std::map<double, std::vector<double>> kept;
  const std::lock_guard lock(mutex);
  auto& series = kept[shape];
  if (series.empty()) series = MakeSeries(shape);
  return series;
}

}  // namespace

SphereFromCube::SphereFromCube(std::size_t angles, std::size_t points)
    : angles_(angles), start_(1, 0) {
  for (std::size_t j = 0; j + 1 < angles; ++j) {
    const double shape = Shape(angles, j);
    if (shape > 1 && TermsFor(shape) < points) {
      const auto series = CosineSeries(shape);
      terms_.insert(terms_.end(), series.begin(), series.end());
    } else if (shape > 1) {
      complete_ = false;
    }
    start_.push_back(static_cast<std::uint32_t>(terms_.size()));
  }
}

double SphereFromCube::Cosine(std::size_t angle, double u) const {
  const std::size_t terms = start_[angle + 1] - start_[angle];
  if (terms == 0) return CosineByInverse(Shape(angles_, angle), u);
  return CosineBySeries(terms_.data() + start_[angle], terms, u);
}

void SphereFromCube::operator()(std::span<const double> u, std::span<double> x) const {
  for (std::size_t j = 0; j + 1 < angles_; ++j) x[j] = Cosine(j, u[j]);
  x[angles_ - 1] = u[angles_ - 1];
  OntoSphere(x.data(), angles_, 1);
}

}  // namespace retable::shapley
