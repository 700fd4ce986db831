#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/special_functions/legendre.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "algorithms/quantiles/estimators/root.hpp"

namespace retable::quantiles {
namespace {

//! Row i: the contribution of local node i to the coefficients of F in a panel.
using ToCdf = Eigen::Matrix<double, kPanelNodes, kPanelNodes + 1>;

//! The mass m_i at node i is that of the polynomial sum_k (2k+1)/2 m_i P_k(t_i) P_k(t); its
//! integral from -1 is ((P_{k+1} - P_{k-1})(t)) / 2 summed, (t + 1) / 2 for k = 0. The rule's
//! last coefficient, k = m, has the discrete norm 2 / m instead of 2 / (2m+1).
ToCdf BuildToCdf() {
  std::array<std::array<double, kPanelNodes + 1>, kPanelNodes + 1> legendre{};
  legendre[0][0] = legendre[1][1] = 1;
  for (int k = 1; k < kPanelNodes; ++k) {
    for (int j = 0; j <= kPanelNodes; ++j) {
      legendre[k + 1][j] =
          ((2 * k + 1) * (j > 0 ? legendre[k][j - 1] : 0) - k * legendre[k - 1][j]) / (k + 1);
    }
  }
  ToCdf to_cdf = ToCdf::Zero();
  for (int i = 0; i < kPanelNodes; ++i) {
    to_cdf(i, 0) += 0.5;
    to_cdf(i, 1) += 0.5;
    for (int k = 1; k < kPanelNodes; ++k) {
      constexpr int m = kPanelNodes - 1;
      const double norm = k == m ? 0.5 * m / (2 * m + 1) : 0.5;
      const double c = norm * boost::math::legendre_p(k, Quadrature::Get().local[i]);
      for (int j = 0; j <= kPanelNodes; ++j) {
        to_cdf(i, j) += c * (legendre[k + 1][j] - legendre[k - 1][j]);
      }
    }
  }
  return to_cdf;
}

//! {p(t), p'(t)} by Horner.
std::pair<double, double> Horner(const std::array<double, kPanelNodes + 1>& c, double t) {
  double value = c[kPanelNodes];
  double slope = 0;
  for (int i = kPanelNodes - 1; i >= 0; --i) {
    slope = slope * t + value;
    value = value * t + c[i];
  }
  return {value, slope};
}

}  // namespace

MaxEntropyDensity::MaxEntropyDensity(const Moments& mu, int order)
    : MaxEntropyDensity({mu, order}, SolveDual({mu, order})) {}

MaxEntropyDensity::MaxEntropyDensity(const DualProblem& problem, const DualAnswer& answer)
    : order_(problem.order), fit_(answer) {
  static const ToCdf to_cdf = BuildToCdf();
  const std::vector<double> mass = DualMasses(problem, answer);
  for (int p = 0; p < kPanels; ++p) {
    const Eigen::Map<const Eigen::Matrix<double, 1, kPanelNodes>> local(&mass[p * kPanelNodes]);
    Eigen::Map<Eigen::Matrix<double, 1, kPanelNodes + 1>>(inside_[p].data()) = local * to_cdf;
    inside_[p][0] += cdf_[p];
    cdf_[p + 1] = cdf_[p] + local.sum();
  }
}

double MaxEntropyDensity::Quantile(double phi) const {
  if (phi <= 0) return -1;
  if (phi >= 1) return 1;
  const auto edge = std::lower_bound(cdf_.begin() + 1, cdf_.end() - 1, phi);
  const int p = static_cast<int>(edge - cdf_.begin()) - 1;
  const double mass = cdf_[p + 1] - cdf_[p];
  const double start = mass > 0 ? std::clamp(2 * (phi - cdf_[p]) / mass - 1, -1.0, 1.0) : 0;
  const double local =
      BracketedNewton([&](double t) { return Horner(inside_[p], t); }, phi, -1.0, 1.0, start, 1e-9);
  const double low = PanelEdge(p);
  const double high = PanelEdge(p + 1);
  return std::clamp(0.5 * (low + high) + 0.5 * (high - low) * local, low, high);
}

double MaxEntropyDensity::Cdf(double t) const {
  if (t <= -1) return 0;
  if (t >= 1) return 1;
  const double angle = std::acos(-t) / std::numbers::pi * kPanels;
  const int p = std::clamp(static_cast<int>(angle), 0, kPanels - 1);
  const double low = PanelEdge(p);
  const double high = PanelEdge(p + 1);
  const double local = (2 * t - low - high) / (high - low);
  return std::clamp(Horner(inside_[p], std::clamp(local, -1.0, 1.0)).first, 0.0, 1.0);
}

}  // namespace retable::quantiles
