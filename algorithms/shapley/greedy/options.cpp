#include "algorithms/shapley/greedy/options.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/common/require.hpp"

namespace retable::shapley {

GreedyOptions GreedyOptions::From(const Parameters& parameters) {
  GreedyOptions options;
  options.kernel = KernelByName(TextParameter(parameters, "kernel", "Mallows"));
  options.lambda = RealParameter(parameters, "lambda", 4.0);
  const std::int64_t candidates = IntegerParameter(parameters, "candidates", 25);
  Require(candidates >= 1, "candidates: at least one is needed");
  options.candidates = static_cast<std::size_t>(candidates);
  return options;
}

std::vector<ParameterInfo> GreedyParameters() {
  return {{"kernel", std::string("Mallows"), "Mallows, Kendall or Spearman"},
          {"lambda", 4.0, "of the Mallows kernel"},
          {"candidates", std::int64_t{25}, "random permutations to choose from at each step"}};
}

CholeskyRows::CholeskyRows(std::size_t capacity)
    : stride_((capacity + kDotLanes - 1) / kDotLanes * kDotLanes), factor_(capacity * stride_) {}

void CholeskyRows::Add(const double* left, const RowSums& sums, const QuadratureScale& scale) {
  const std::size_t i = size();
  std::copy_n(left, i, factor_.begin() + static_cast<std::ptrdiff_t>(i * stride_));
  diagonal_.push_back(std::sqrt(sums.Pivot(scale)));
  along_.push_back((1 - sums.along) / diagonal_.back());
}

std::vector<double> CholeskyRows::Weights() const {
  std::vector<double> w = along_;
  for (std::size_t j = w.size(); j-- > 0;) {
    w[j] /= diagonal_[j];
    for (std::size_t i = 0; i < j; ++i) w[i] -= row(j)[i] * w[j];
  }
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  for (double& weight : w) weight /= sum;
  return w;
}

std::vector<Work> GreedyWork(const GreedyOptions& options, std::size_t n, int d, bool quadrature) {
  const auto steps = static_cast<double>(n), candidates = static_cast<double>(options.candidates);
  const double compared = candidates * steps * (steps - 1) / 2;
  std::vector<Work> work = {{"copy", 4 * steps * d}};
  if (options.kernel == KernelKind::kSpearman) {
    work.push_back({"FMA fp32", compared * 2 * d});
  } else {
    work.push_back({"bit counts", compared * std::ceil(d * (d - 1) / 2 / 64.0)});
  }
  if (quadrature) work.push_back({"FMA fp64", candidates * steps * steps * steps / 3});
  return work;
}

}  // namespace retable::shapley
