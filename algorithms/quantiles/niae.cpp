#include "algorithms/quantiles/niae.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace retable::quantiles {

std::vector<double> NiaePhis(std::size_t points) {
  if (points < 2) throw std::invalid_argument("NIAE needs at least 2 points");
  std::vector<double> phis(points);
  for (std::size_t i = 0; i < points; ++i) {
    phis[i] = static_cast<double>(i) / static_cast<double>(points - 1);
  }
  return phis;
}

double EmpiricalQuantile(std::span<const double> sorted, double phi) {
  const double rank = std::floor(static_cast<double>(sorted.size()) * phi);
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::clamp(rank, 0.0, last))];
}

double Niae(std::span<const double> sorted, std::span<const double> estimates) {
  if (sorted.empty()) throw std::invalid_argument("NIAE of no data");
  if (estimates.size() < 2) throw std::invalid_argument("NIAE needs at least 2 points");
  const std::size_t last = estimates.size() - 1;
  double area = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    const double phi = static_cast<double>(i) / static_cast<double>(last);
    const double error = std::abs(estimates[i] - EmpiricalQuantile(sorted, phi));
    area += (i == 0 || i == last ? 0.5 : 1.0) * error;
  }
  area /= static_cast<double>(last);
  if (area == 0) return 0;
  const double range = sorted.back() - sorted.front();
  if (range == 0 && !std::isnan(area)) return std::numeric_limits<double>::infinity();
  return area / range;
}

std::vector<double> NiaePlaces(double low, double high, std::size_t points) {
  std::vector<double> places = NiaePhis(points);
  for (double& x : places) x = low + x * (high - low);
  places.back() = high;
  return places;
}

double NiaeOfCdf(std::span<const double> sorted, std::span<const double> cdf) {
  if (sorted.empty()) throw std::invalid_argument("NIAE of no data");
  const auto places = NiaePlaces(sorted.front(), sorted.back(), cdf.size());
  double sum = 0;
  auto at = sorted.begin();
  for (std::size_t i = 0; i < cdf.size(); ++i) {
    at = std::upper_bound(at, sorted.end(), places[i]);
    const auto rank = static_cast<double>(at - sorted.begin());
    sum += std::abs(cdf[i] - rank / static_cast<double>(sorted.size()));
  }
  return sum / static_cast<double>(cdf.size());
}

double IntervalRankError(std::span<const double> sorted, double phi, double q) {
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), q);
  const double n = static_cast<double>(sorted.size());
  const double below = static_cast<double>(low - sorted.begin()) / n;
  const double through = static_cast<double>(high - sorted.begin()) / n;
  return std::max({0.0, below - phi, phi - through});
}

}  // namespace retable::quantiles
