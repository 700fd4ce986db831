#include "algorithms/quantiles/estimators/jacobi.hpp"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

namespace retable::quantiles {

JacobiMatrix::JacobiMatrix(const Moments& mu, int order, double noise, double count) {
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
  gauss_ = Solve(size_, alpha_[size_ - 1]);
  // The mean of pi^2, pi the product of (t - atom), is at most `noise`, so that of one value of
  // `count` at most noise * count: it lies within that over |pi'| of an atom.
  for (const double atom : gauss_.point) {
    double slope = 1;
    for (const double other : gauss_.point) slope *= other == atom ? 1 : std::abs(atom - other);
    doubt_.push_back(2 * std::sqrt(noise * count) / slope + 1e-12);
  }
}

Atoms JacobiMatrix::Solve(int size, double last) const {
  Eigen::VectorXd diagonal(size);
  Eigen::VectorXd beside(std::max(size - 1, 0));
  for (int i = 0; i < size; ++i) diagonal[i] = i == size - 1 ? last : alpha_[i];
  for (int i = 1; i < size; ++i) beside[i - 1] = std::sqrt(beta_[i]);
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside);
  Atoms atoms;
  for (int i = 0; i < size; ++i) {
    atoms.point.push_back(solver.eigenvalues()[i]);
    const double first = solver.eigenvectors()(0, i);
    atoms.mass.push_back(first * first);
  }
  return atoms;
}

Atoms JacobiMatrix::Gauss() const {
  return gauss_;
}

RankBounds JacobiMatrix::Bounds(double t, double step) const {
  if (complete_) {
    RankBounds out{0, 0};
    for (std::size_t i = 0; i < gauss_.point.size(); ++i) {
      const bool certain = doubt_[i] < 0.25 * step;
      const double near = certain ? 0.25 * step : doubt_[i];
      const double off = t - gauss_.point[i];
      if (off > near || (certain && off > -near)) out.through += gauss_.mass[i];
      if (off > near || (!certain && off > -near)) out.below += gauss_.mass[i];
    }
    return out;
  }
  // Masses left of t, and up to t, of a distribution of which t is one point.
  const auto enclose = [&](const Atoms& atoms) {
    constexpr double kSame = 1e-6;
    RankBounds out{0, 0};
    for (std::size_t i = 0; i < atoms.point.size(); ++i) {
      if (atoms.point[i] < t - kSame) out.through += atoms.mass[i];
      if (atoms.point[i] <= t + kSame) out.below += atoms.mass[i];
    }
    return out;
  };
  // Monic polynomials of degree m - 1 and m at t, m the last degree whose beta is known.
  const int m = closed_ ? size_ : size_ - 1;
  if (m < 1) return {0, 1};
  double before = 0;
  double now = 1;
  for (int k = 0; k < m; ++k) {
    const double next = (t - alpha_[k]) * now - (k > 0 ? beta_[k] : 0) * before;
    before = now;
    now = next;
  }
  if (std::abs(now) < 1e-12 * std::abs(before)) return enclose(Solve(m, alpha_[m - 1]));
  return enclose(Solve(m + 1, t - beta_[m] * before / now));
}

}  // namespace retable::quantiles
