#include "algorithms/quantiles/dual.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace retable::quantiles {
namespace {

constexpr int kMaxIterations = 200;
constexpr double kTolerance = 1e-10;  // of the gradient: below what moments of float data hold
constexpr double kMaxReach = 4;       // change of a log-density in the first iteration
constexpr double kReachGrowth = 1.03;
constexpr double kRidge = 1e-13;  // first ridge, relative to the Hessian's largest entry

//! A density at the nodes.
struct Iterate {
  Eigen::ArrayXd exponent;
  Eigen::ArrayXd mass;
  double log_normaliser = 0;

  //! Masses of exp(exponent) times the weights, normalised; safe against overflow.
  void Normalise(const Eigen::Map<const Eigen::ArrayXd>& weights) {
    const double top = exponent.maxCoeff();
    mass = weights * (exponent - top).exp();
    const double total = mass.sum();
    mass /= total;
    log_normaliser = top + std::log(total);
  }
};

//! Newton's direction: solves (H + ridge I) d = -g, raising the ridge until the factor is sound.
Eigen::VectorXd Direction(const Eigen::MatrixXd& hessian, const Eigen::VectorXd& gradient) {
  const double top = std::max(hessian.diagonal().maxCoeff(), 1e-300);
  for (double ridge = kRidge; ridge < 10; ridge *= 100) {
    Eigen::MatrixXd damped = hessian;
    damped.diagonal().array() += ridge * top;
    const Eigen::LLT<Eigen::MatrixXd> factor(damped);
    if (factor.info() != Eigen::Success) continue;
    Eigen::VectorXd direction = -factor.solve(gradient);
    if (direction.allFinite() && direction.dot(gradient) < 0) return direction;
  }
  return -gradient;
}

//! The covariance of T_1..T_l from the moments of order 0..2l.
Eigen::MatrixXd Covariance(const Eigen::VectorXd& moment, Eigen::Index l) {
  Eigen::MatrixXd out(l, l);
  for (Eigen::Index i = 1; i <= l; ++i) {
    for (Eigen::Index j = 1; j <= i; ++j) {
      const double h = 0.5 * (moment[i + j] + moment[i - j]) - moment[i] * moment[j];
      out(i - 1, j - 1) = out(j - 1, i - 1) = h;
    }
  }
  return out;
}

}  // namespace

NodeTable::NodeTable(std::vector<double> nodes, std::vector<double> weights)
    : nodes_(std::move(nodes)), weights_(std::move(weights)) {
  const std::size_t n = nodes_.size();
  chebyshev_.resize(n * (2 * kMaxOrder + 1));
  for (std::size_t i = 0; i < n; ++i) {
    double before = 1;
    double now = nodes_[i];
    chebyshev_[i] = 1;
    for (std::size_t k = 1; k <= 2 * kMaxOrder; ++k) {
      chebyshev_[k * n + i] = now;
      before = std::exchange(now, 2 * nodes_[i] * now - before);
    }
  }
}

DualFit FitDual(const NodeTable& table, const Moments& mu, int order) {
  const Eigen::Index l = order;
  const Eigen::Index n = static_cast<Eigen::Index>(table.nodes().size());
  const Eigen::Map<const Eigen::ArrayXd> weights(table.weights().data(), n);
  const Eigen::Map<const Eigen::MatrixXd> chebyshev(table.chebyshev().data(), n, 2 * l + 1);
  const auto basis = chebyshev.middleCols(1, l);
  const Eigen::VectorXd target = Eigen::Map<const Eigen::VectorXd>(mu.data() + 1, l);

  DualFit fit;
  fit.residual = std::numeric_limits<double>::infinity();
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(l);
  Eigen::VectorXd best = theta;
  Iterate at;
  at.exponent = Eigen::ArrayXd::Zero(n);
  at.Normalise(weights);
  Iterate best_at = at;
  Iterate trial;
  double limit = kMaxReach;
  for (; fit.iterations < kMaxIterations; ++fit.iterations) {
    const Eigen::VectorXd moment = chebyshev.transpose() * at.mass.matrix();
    const Eigen::VectorXd gradient = moment.segment(1, l) - target;
    const double size = l > 0 ? gradient.lpNorm<Eigen::Infinity>() : 0;
    if (size < fit.residual) {
      fit.residual = size;
      best = theta;
      best_at = at;
    }
    if (size < kTolerance) break;

    const Eigen::VectorXd direction = Direction(Covariance(moment, l), gradient);
    const Eigen::ArrayXd along = (basis * direction).array();
    const double slope = gradient.dot(direction);
    const double here = at.log_normaliser - theta.dot(target);
    const double reach = along.maxCoeff() - along.minCoeff();
    bool moved = false;
    for (double step = std::min(1.0, limit / reach); step > 1e-10; step *= 0.5) {
      trial.exponent = at.exponent + step * along;
      trial.Normalise(weights);
      const Eigen::VectorXd next = theta + step * direction;
      if (trial.log_normaliser - next.dot(target) <= here + 1e-4 * step * slope) {
        theta = next;
        std::swap(at, trial);
        moved = true;
        break;
      }
    }
    if (!moved) break;
    limit *= kReachGrowth;
  }
  fit.dual = best_at.log_normaliser - best.dot(target);
  fit.theta[0] = -best_at.log_normaliser;
  for (Eigen::Index k = 0; k < l; ++k) fit.theta[static_cast<std::size_t>(k) + 1] = best[k];
  fit.mass.assign(best_at.mass.data(), best_at.mass.data() + n);
  return fit;
}

}  // namespace retable::quantiles
