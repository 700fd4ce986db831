#include "algorithms/shapley/sphere.hpp"

#include <boost/math/special_functions/beta.hpp>
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

void SphereFromCube(std::span<const double> u, std::span<double> x) {
  const std::size_t m = u.size();
  double radius = 1;
  for (std::size_t j = 0; j + 1 < m; ++j) {
    // (1 - cos phi) / 2 has the beta distribution of equal shapes (m - j) / 2.
    const double shape = static_cast<double>(m - j) / 2;
    const double cosine = 1 - 2 * boost::math::ibeta_inv(shape, shape, u[j]);
    x[j] = radius * cosine;
    radius *= std::sqrt(std::max(0.0, 1 - cosine * cosine));
  }
  const double angle = 2 * std::numbers::pi * u[m - 1];
  x[m - 1] = radius * std::cos(angle);
  x[m] = radius * std::sin(angle);
}

}  // namespace retable::shapley
