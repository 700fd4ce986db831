//! @file
//! Kernel herding and sequential Bayesian quadrature: orders chosen one by one from random
//! candidates so that the set's discrepancy falls most.
//!
//! Kernel means do not depend on the order, so herding takes the candidate with the least sum of
//! kernels to those chosen (an exact integer), and quadrature the candidate that raises
//! 1' K^-1 1 most: with the Cholesky factor K = L L' and v = L^-1 1 the gain of a candidate with
//! kernels k and a = L^-1 k is (1 - a.v)^2 / (K(c, c) - a.a). Its weights K^-1 1 / (1' K^-1 1) are
//! the Bayesian quadrature weights z' K^-1 scaled to the sum of one, which keeps estimates
//! efficient. A ridge of 1e-8 K(s, s) holds K positive where orders repeat or the kernel is of low
//! rank (Kendall, Spearman). Herding costs candidates * n^2 / 2 kernel values; quadrature
//! candidates * n^3 / 3 more operations, all candidates of a step in one triangular solve, and n^2
//! doubles. Chen, Welling, Smola 2010; Huszar and Duvenaud 2012; Mitchell et al. 2022, sections 3.1
//! and 3.2, algorithm 1.

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "algorithms/shapley/kernel.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kStream = 2;

struct GreedyOptions {
  KernelKind kernel = KernelKind::kMallows;
  double lambda = 4;
  std::size_t candidates = 25;
};

GreedyOptions OptionsOf(const Parameters& p) {
  GreedyOptions options;
  options.kernel = KernelByName(TextParameter(p, "kernel", "Mallows"));
  options.lambda = RealParameter(p, "lambda", 4.0);
  const std::int64_t candidates = IntegerParameter(p, "candidates", 25);
  if (candidates < 1) throw std::invalid_argument("candidates: at least one is needed");
  options.candidates = static_cast<std::size_t>(candidates);
  return options;
}

// The candidates of one step, as orders and as codes.
class Candidates {
 public:
  Candidates(const PermutationKernel& kernel, std::size_t count, std::uint64_t seed)
      : kernel_(kernel),
        seed_(seed),
        d_(static_cast<std::size_t>(kernel.dimension())),
        orders_(count * d_),
        codes_(count * kernel.words()) {}

  void Draw(std::size_t step) {
    const std::size_t count = orders_.size() / d_;
    for (std::size_t c = 0; c < count; ++c) {
      UniformOrder(seed_, kStream, step * count + c, std::span(orders_).subspan(c * d_, d_));
      kernel_.Encode(order(c), std::span(codes_).subspan(c * kernel_.words(), kernel_.words()));
    }
  }
  std::span<const std::int32_t> order(std::size_t c) const {
    return std::span(orders_).subspan(c * d_, d_);
  }
  const std::uint64_t* code(std::size_t c) const { return codes_.data() + c * kernel_.words(); }

 private:
  const PermutationKernel& kernel_;
  std::uint64_t seed_;
  std::size_t d_;
  std::vector<std::int32_t> orders_;
  std::vector<std::uint64_t> codes_;
};

// The chosen orders so far.
struct Chosen {
  PermutationSample sample;
  std::vector<std::uint64_t> codes;
  std::size_t words;

  void Add(std::size_t step, const Candidates& from, std::size_t c) {
    const auto order = from.order(c);
    std::copy(order.begin(), order.end(),
              sample.orders.begin() + static_cast<std::ptrdiff_t>(step * order.size()));
    codes.insert(codes.end(), from.code(c), from.code(c) + words);
  }
  const std::uint64_t* code(std::size_t i) const { return codes.data() + i * words; }
};

class Herding final : public PermutationSampler {
 public:
  explicit Herding(const GreedyOptions& options) : options_(options) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    Chosen chosen{EmptySample(n, d), {}, 0};
    const PermutationKernel kernel(options_.kernel, options_.lambda, d);
    chosen.words = kernel.words();
    Candidates candidates(kernel, options_.candidates, seed);
    for (std::size_t step = 0; step < n; ++step) {
      candidates.Draw(step);
      chosen.Add(step, candidates, Best(kernel, chosen, candidates, step));
    }
    return std::move(chosen.sample);
  }

 private:
  std::size_t Best(const PermutationKernel& kernel, const Chosen& chosen,
                   const Candidates& candidates, std::size_t step) const {
    std::size_t best = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t c = 0; c < options_.candidates && step > 0; ++c) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < step; ++i)
        sum += kernel.Fixed(candidates.code(c), chosen.code(i));
      if (sum < least) {
        least = sum;
        best = c;
      }
    }
    return best;
  }

  GreedyOptions options_;
};

class BayesianQuadrature final : public PermutationSampler {
 public:
  explicit BayesianQuadrature(const GreedyOptions& options) : options_(options) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    Chosen chosen{EmptySample(n, d), {}, 0};
    if (n == 0) return std::move(chosen.sample);
    const PermutationKernel kernel(options_.kernel, options_.lambda, d);
    chosen.words = kernel.words();
    const double diagonal = kernel.Self() * (1 + kRidge);
    const auto size = static_cast<Eigen::Index>(n);
    Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(size, size);
    Eigen::VectorXd v(size);
    Candidates candidates(kernel, options_.candidates, seed);
    for (Eigen::Index step = 0; step < size; ++step) {
      const auto at = static_cast<std::size_t>(step);
      candidates.Draw(at);
      Eigen::MatrixXd a = Kernels(kernel, chosen, candidates, at);
      factor.topLeftCorner(step, step).triangularView<Eigen::Lower>().solveInPlace(a);
      std::size_t best = 0;
      double best_gain = -1, best_pivot = 1;
      for (std::size_t c = 0; c < options_.candidates; ++c) {
        const auto column = a.col(static_cast<Eigen::Index>(c));
        const double pivot =
            std::max(diagonal - column.squaredNorm(), diagonal * kRidge / (1 + kRidge));
        const double residual = 1 - column.dot(v.head(step));
        const double gain = residual * residual / pivot;
        if (gain > best_gain) {
          best = c;
          best_gain = gain;
          best_pivot = pivot;
        }
      }
      const auto column = a.col(static_cast<Eigen::Index>(best));
      factor.row(step).head(step) = column.transpose();
      factor(step, step) = std::sqrt(best_pivot);
      v(step) = (1 - column.dot(v.head(step))) / factor(step, step);
      chosen.Add(at, candidates, best);
    }
    const Eigen::VectorXd w = factor.transpose().triangularView<Eigen::Upper>().solve(v);
    chosen.sample.weights.assign(w.data(), w.data() + size);
    for (double& weight : chosen.sample.weights) weight /= w.sum();
    return std::move(chosen.sample);
  }

 private:
  static constexpr double kRidge = 1e-8;

  // Kernels of the chosen (rows) to the candidates (columns).
  Eigen::MatrixXd Kernels(const PermutationKernel& kernel, const Chosen& chosen,
                          const Candidates& candidates, std::size_t step) const {
    Eigen::MatrixXd k(static_cast<Eigen::Index>(step),
                      static_cast<Eigen::Index>(options_.candidates));
    for (Eigen::Index c = 0; c < k.cols(); ++c) {
      const std::uint64_t* code = candidates.code(static_cast<std::size_t>(c));
      for (Eigen::Index i = 0; i < k.rows(); ++i) {
        k(i, c) = kernel.Value(code, chosen.code(static_cast<std::size_t>(i)));
      }
    }
    return k;
  }

  GreedyOptions options_;
};

std::vector<ParameterInfo> GreedyParameters() {
  return {{"kernel", std::string("Mallows"), "Mallows, Kendall or Spearman"},
          {"lambda", 4.0, "of the Mallows kernel"},
          {"candidates", std::int64_t{25}, "random permutations to choose from at each step"}};
}

}  // namespace

RETABLE_REGISTER(PermutationSampler, herding,
                 {.name = "Herding",
                  .device = Device::kCpu,
                  .summary = "kernel herding over random candidates",
                  .citation = "Chen et al. 2010; Mitchell et al. 2022, section 3.1",
                  .parameters = GreedyParameters(),
                  .make = [](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
                    return std::make_unique<Herding>(OptionsOf(p));
                  }});
RETABLE_REGISTER(PermutationSampler, quadrature,
                 {.name = "SBQ",
                  .device = Device::kCpu,
                  .summary = "sequential Bayesian quadrature over random candidates; weighted",
                  .citation = "Huszar and Duvenaud 2012; Mitchell et al. 2022, algorithm 1",
                  .parameters = GreedyParameters(),
                  .make = [](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
                    return std::make_unique<BayesianQuadrature>(OptionsOf(p));
                  }});

}  // namespace retable::shapley
