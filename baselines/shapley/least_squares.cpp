#include "baselines/shapley/least_squares.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace retable::shapley {

std::vector<double> NearestAdditive(const Coalitions& coalitions, const std::vector<double>& values,
                                    const std::vector<double>& weights, const Ends& ends) {
  const auto n = static_cast<Eigen::Index>(coalitions.count());
  const Eigen::Index d = coalitions.dimension();
  const double share = ends.worth() / static_cast<double>(d);
  // Rows less their means: what is left to explain beside equal shares, and its sum is zero.
  Eigen::MatrixXd rows(n, d);
  Eigen::VectorXd targets(n);
  double scale = 0;
  for (const double w : weights) scale = std::max(scale, w);
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const int size = coalitions.size(at);
    const double mean = static_cast<double>(size) / static_cast<double>(d);
    const double root = std::sqrt(weights[at] / scale);
    for (Eigen::Index i = 0; i < d; ++i) {
      rows(k, i) = root * ((coalitions.has(at, static_cast<std::size_t>(i)) ? 1 : 0) - mean);
    }
    targets(k) = root * (values[at] - ends.none - share * size);
  }
  Eigen::VectorXd phi = Eigen::VectorXd::Zero(d);
  if (n > 0) {
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(d, d);
    gram.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
    gram.triangularView<Eigen::Lower>() += Eigen::MatrixXd::Constant(
        d, d, std::max(gram.trace(), 1e-300) / static_cast<double>(d * d));
    const Eigen::LDLT<Eigen::MatrixXd> factor(gram);
    const auto pivots = factor.vectorD().cwiseAbs();
    const bool regular = pivots.minCoeff() > 1e-11 * pivots.maxCoeff();
    phi = regular ? Eigen::VectorXd(factor.solve(rows.transpose() * targets))
                  : Eigen::VectorXd(rows.completeOrthogonalDecomposition().solve(targets));
    phi.array() -= phi.mean();
  }
  phi.array() += share;
  return {phi.data(), phi.data() + d};
}

}  // namespace retable::shapley
