#include "algorithms/quantiles/estimators/jacobi.hpp"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace retable::quantiles {

JacobiMatrix::JacobiMatrix(const Moments& mu, int order, double noise) {
  // Moments of the monic polynomials T_k / 2^{k-1}, whose own recurrence has a_k = 0, b_1 = 1/2 and
  // b_k = 1/4 beyond.
  std::array<double, kMaxOrder + 1> now{};
  std::array<double, kMaxOrder + 1> before{};
  for (int k = 0; k <= order; ++k) now[k] = k == 0 ? mu[0] : std::ldexp(mu[k], 1 - k);
  const auto b = [](int k) { return k == 1 ? 0.5 : 0.25; };
  alpha_[0] = now[1];
  size_ = 1;
  double norm_before = 1;
  // Row k needs the moments up to 2k + 1, its beta those up to 2k.
  for (int k = 1; 2 * k <= order; ++k) {
    std::array<double, kMaxOrder + 1> next{};
    for (int j = k; j <= order - k; ++j) {
      next[j] = now[j + 1] - alpha_[k - 1] * now[j] - beta_[k - 1] * before[j] + b(j) * now[j - 1];
    }
    const double norm = next[k];
    if (!(norm > noise)) {
      complete_ = true;
      break;
    }
    beta_[k] = norm / norm_before;
    closed_ = true;
    if (2 * k + 1 > order) break;
    alpha_[k] = next[k + 1] / next[k] - now[k] / now[k - 1];
    size_ = k + 1;
    closed_ = false;
    norm_before = norm;
    before = now;
    now = next;
  }
}

Atoms JacobiMatrix::Gauss() const {
  Eigen::VectorXd diagonal(size_);
  Eigen::VectorXd beside(std::max(size_ - 1, 0));
  for (int i = 0; i < size_; ++i) diagonal[i] = alpha_[i];
  for (int i = 1; i < size_; ++i) beside[i - 1] = std::sqrt(beta_[i]);
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside);
  Atoms atoms;
  for (int i = 0; i < size_; ++i) {
    atoms.point.push_back(solver.eigenvalues()[i]);
    const double first = solver.eigenvectors()(0, i);
    atoms.mass.push_back(first * first);
  }
  return atoms;
}

std::vector<double> JacobiMatrix::PointsWith(double t, int rows) const {
  // Monic polynomials of degree rows - 1 and rows at t.
  double before = 0;
  double now = 1;
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMax + 1, 1> diagonal(rows + 1);
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMax + 1, 1> beside(rows);
  for (int k = 0; k < rows; ++k) {
    const double next = (t - alpha_[k]) * now - (k > 0 ? beta_[k] : 0) * before;
    before = now;
    now = next;
    diagonal[k] = alpha_[k];
    beside[k] = std::sqrt(beta_[k + 1]);
  }
  diagonal[rows] = rows == 0 || beta_[rows] == 0 ? t : t - beta_[rows] * before / now;
  if (!std::isfinite(diagonal.sum()) || !std::isfinite(beside.sum())) return {};
  Eigen::SelfAdjointEigenSolver<
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMax + 1, kMax + 1>>
      solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

}  // namespace retable::quantiles
