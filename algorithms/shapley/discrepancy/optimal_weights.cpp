#include <Eigen/Cholesky>
#include <stdexcept>

#include "algorithms/common/require.hpp"
#include "algorithms/shapley/discrepancy/discrepancy.hpp"

namespace retable::shapley {

std::vector<double> OptimalWeights(const PermutationSample& sample,
                                   const PermutationKernel& kernel) {
  Require(sample.dimension == kernel.dimension(), "kernel and sample are of different lengths");
  const auto codes = kernel.EncodeAll(sample);
  const auto n = static_cast<Eigen::Index>(sample.count());
  if (n == 0) return {};
  const auto code = [&](Eigen::Index i) {
    return codes.data() + static_cast<std::size_t>(i) * kernel.words();
  };
  Eigen::MatrixXd k(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    k(j, j) = kernel.Self() * (1 + 1e-8);
    for (Eigen::Index i = j + 1; i < n; ++i) k(i, j) = kernel.Value(code(i), code(j));
  }
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>, Eigen::Lower> factor(k);
  const Eigen::VectorXd w = factor.solve(Eigen::VectorXd::Ones(n));
  if (factor.info() != Eigen::Success || !(w.sum() > 0)) {
    throw std::runtime_error("the kernel matrix of these permutations is not positive");
  }
  std::vector<double> weights(w.data(), w.data() + n);
  for (double& weight : weights) weight /= w.sum();
  return weights;
}

}  // namespace retable::shapley
