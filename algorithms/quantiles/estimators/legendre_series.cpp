#include "algorithms/quantiles/estimators/legendre_series.hpp"

#include "algorithms/quantiles/estimators/root.hpp"

namespace retable::quantiles {

LegendreSeries::LegendreSeries(const std::array<double, kMaxOrder + 1>& mu, int order)
    : order_(order) {
  for (int n = 0; n <= order; ++n) density_[n] = (2 * n + 1) * 0.5 * mu[n];
  integral_[0] += 0.5 * mu[0];  // from t + 1 = L_1 + L_0
  integral_[1] += 0.5 * mu[0];
  for (int n = 1; n <= order; ++n) {
    integral_[n + 1] += 0.5 * mu[n];
    integral_[n - 1] -= 0.5 * mu[n];
  }
}

std::pair<double, double> LegendreSeries::CdfAndDensity(double t) const {
  double before = 1;
  double now = t;
  double cdf = integral_[0] + integral_[1] * t;
  double density = density_[0] + density_[1] * t;
  for (int n = 1; n <= order_; ++n) {
    static constexpr auto kInverse = [] {
      std::array<double, kMaxOrder + 2> inverse{};
      for (int i = 1; i < kMaxOrder + 2; ++i) inverse[i] = 1.0 / i;
      return inverse;
    }();
    const double next = ((2 * n + 1) * t * now - n * before) * kInverse[n + 1];
    before = now;
    now = next;
    cdf += integral_[n + 1] * now;
    if (n < order_) density += density_[n + 1] * now;
  }
  return {cdf, density};
}

double LegendreSeries::Quantile(double phi) const {
  if (phi <= 0) return -1;
  if (phi >= 1) return 1;
  return BracketedNewton([this](double t) { return CdfAndDensity(t); }, phi, -1.0, 1.0, 0.0, 1e-12);
}

}  // namespace retable::quantiles
