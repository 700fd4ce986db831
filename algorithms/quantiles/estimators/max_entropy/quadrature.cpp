#include "algorithms/quantiles/estimators/max_entropy/quadrature.hpp"

#include <algorithm>
#include <boost/math/special_functions/legendre.hpp>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace retable::quantiles {
namespace {

struct LocalRule {
  std::array<double, kPanelNodes> node;
  std::array<double, kPanelNodes> weight;
};

//! The Gauss-Lobatto rule. Its inner nodes are the roots of t P_m(t) - P_{m-1}(t), found by Newton
//! from the Chebyshev-Lobatto nodes.
LocalRule LobattoRule() {
  constexpr int m = kPanelNodes - 1;
  LocalRule rule;
  for (int i = 0; i <= m; ++i) {
    double t = -std::cos(std::numbers::pi * i / m);
    for (int newton = 0; newton < 50; ++newton) {
      const double p = boost::math::legendre_p(m, t);
      t = std::clamp(t - (t * p - boost::math::legendre_p(m - 1, t)) / ((m + 1) * p), -1.0, 1.0);
    }
    const double p = boost::math::legendre_p(m, t);
    rule.node[i] = t;
    rule.weight[i] = 2 / (m * (m + 1) * p * p);
  }
  return rule;
}

}  // namespace

double PanelEdge(int p) {
  if (2 * p == kPanels) return 0;
  return -std::cos(std::numbers::pi * p / kPanels);
}

const Quadrature& Quadrature::Get() {
  static const Quadrature quadrature;
  return quadrature;
}

Quadrature::Quadrature() {
  const LocalRule rule = LobattoRule();
  local = rule.node;
  for (int p = 0; p < kPanels; ++p) {
    const double middle = 0.5 * (PanelEdge(p + 1) + PanelEdge(p));
    const double half = 0.5 * (PanelEdge(p + 1) - PanelEdge(p));
    for (int i = 0; i < kPanelNodes; ++i) {
      const std::size_t at = static_cast<std::size_t>(p * kPanelNodes + i);
      node[at] = middle + half * rule.node[i];
      weight[at] = half * rule.weight[i];
    }
  }
}

}  // namespace retable::quantiles
