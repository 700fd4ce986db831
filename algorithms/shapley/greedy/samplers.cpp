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
//! candidates * n^3 / 6 multiply-adds more, a forward substitution by dot products for each
//! candidate, and n^2 doubles. Chen, Welling, Smola 2010; Huszar and Duvenaud 2012; Mitchell et al.
//! 2022, sections 3.1 and 3.2, algorithm 1. CUDA backend: greedy/cuda/device_greedy.cu.

#include <algorithm>
#include <limits>

#include "algorithms/shapley/greedy/options.hpp"
#include "base/parallel.hpp"

namespace retable::shapley {
namespace {

// Orders and their codes: the candidates of a step, or those chosen so far.
struct CodedOrders {
  CodedOrders(const PermutationKernel& kernel, std::size_t count)
      : sample(EmptySample(count, kernel.dimension())),
        words(kernel.words()),
        codes(count * words) {}

  std::uint64_t* code(std::size_t i) { return codes.data() + i * words; }
  const std::uint64_t* code(std::size_t i) const { return codes.data() + i * words; }

  PermutationSample sample;
  std::size_t words;
  std::vector<std::uint64_t> codes;
};

void DrawCandidates(const PermutationKernel& kernel, std::uint64_t seed, std::size_t step,
                    CodedOrders& candidates) {
  const std::size_t count = candidates.sample.count();
  for (std::size_t c = 0; c < count; ++c) {
    const auto order = candidates.sample.order(c);
    UniformOrder(seed, kGreedyStream, step * count + c, order);
    kernel.Encode(order, {candidates.code(c), candidates.words});
  }
}

class Greedy final : public PermutationSampler {
 public:
  Greedy(const GreedyOptions& options, bool quadrature)
      : options_(options), quadrature_(quadrature) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    CheckSample(n, d);
    const PermutationKernel kernel(options_.kernel, options_.lambda, d);
    CodedOrders chosen(kernel, n), candidates(kernel, options_.candidates);
    const auto scale = QuadratureScale::Of(kernel.Self());
    CholeskyRows rows(quadrature_ ? n : 0);
    std::vector<double> left(options_.candidates * rows.stride());  // a row for each candidate
    for (std::size_t step = 0; step < n; ++step) {
      Check();
      DrawCandidates(kernel, seed, step, candidates);
      std::size_t best = 0;
      if (quadrature_) {
        const auto sums = Substitute(kernel, chosen, candidates, rows, step, left);
        best = Best(sums, scale);
        rows.Add(left.data() + best * rows.stride(), sums[best], scale);
      } else {
        best = Farthest(kernel, chosen, candidates, step);
      }
      std::ranges::copy(candidates.sample.order(best), chosen.sample.order(step).begin());
      std::copy_n(candidates.code(best), chosen.words, chosen.code(step));
    }
    if (quadrature_) chosen.sample.weights = rows.Weights();
    return std::move(chosen.sample);
  }

  std::vector<Work> work(std::size_t n, int d) const override {
    return GreedyWork(options_, n, d, quadrature_);
  }

 private:
  // The candidate of the least sum of kernels to those chosen: the first, where there are none.
  std::size_t Farthest(const PermutationKernel& kernel, const CodedOrders& chosen,
                       const CodedOrders& candidates, std::size_t step) const {
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

  // Writes L^-1 k for each candidate's kernels k to those chosen. All candidates go on together, so
  // that a row of the factor is read once.
  std::vector<RowSums> Substitute(const PermutationKernel& kernel, const CodedOrders& chosen,
                                  const CodedOrders& candidates, const CholeskyRows& rows,
                                  std::size_t step, std::vector<double>& left) const {
    std::vector<RowSums> sums(options_.candidates);
    for (std::size_t j = 0; j < step; ++j) {
      for (std::size_t c = 0; c < sums.size(); ++c) {
        double* row = left.data() + c * rows.stride();
        const double known = LaneDot(row, rows.row(j), j);
        row[j] = (kernel.Value(candidates.code(c), chosen.code(j)) - known) / rows.diagonal(j);
        sums[c].Add(row[j], rows.along(j));
      }
    }
    return sums;
  }

  static std::size_t Best(const std::vector<RowSums>& sums, const QuadratureScale& scale) {
    const auto gain = [&](const RowSums& row) { return row.Gain(scale); };
    return static_cast<std::size_t>(std::ranges::max_element(sums, {}, gain) - sums.begin());
  }

  GreedyOptions options_;
  bool quadrature_;
};

}  // namespace

RETABLE_REGISTER(PermutationSampler, herding,
                 {.name = "Herding",
                  .summary = "kernel herding over random candidates",
                  .citation = "Chen et al. 2010; Mitchell et al. 2022, section 3.1",
                  .parameters = GreedyParameters(),
                  .make = [](const Parameters& p) {
                    return std::make_unique<Greedy>(GreedyOptions::From(p), false);
                  }});
RETABLE_REGISTER(PermutationSampler, quadrature,
                 {.name = "SBQ",
                  .summary = "sequential Bayesian quadrature over random candidates; weighted",
                  .citation = "Huszar and Duvenaud 2012; Mitchell et al. 2022, algorithm 1",
                  .parameters = GreedyParameters(),
                  .make = [](const Parameters& p) {
                    return std::make_unique<Greedy>(GreedyOptions::From(p), true);
                  }});

}  // namespace retable::shapley
