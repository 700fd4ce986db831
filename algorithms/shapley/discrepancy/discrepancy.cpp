#include "algorithms/shapley/discrepancy/discrepancy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "algorithms/shapley/discrepancy/cuda/weighted_pairs.hpp"

namespace retable::shapley {

namespace {

void Check(const PermutationSample& sample, const PermutationKernel& kernel) {
  if (sample.count() == 0) throw std::invalid_argument("the discrepancy of no permutations");
  if (sample.dimension != kernel.dimension()) {
    throw std::invalid_argument("kernel and sample are of different lengths");
  }
}

// Equation 8 from the weighted sum of kernels over pairs j < i.
double Combine(const PermutationSample& sample, const PermutationKernel& kernel, double pairs) {
  double weights = 0, squares = 0;
  for (std::size_t i = 0; i < sample.count(); ++i) {
    weights += sample.weight(i);
    squares += sample.weight(i) * sample.weight(i);
  }
  const double squared = kernel.Mean() * (1 - 2 * weights) + 2 * pairs + squares * kernel.Self();
  return std::sqrt(std::max(0.0, squared));
}

}  // namespace

double Discrepancy(const PermutationSample& sample, const PermutationKernel& kernel) {
  Check(sample, kernel);
  const auto codes = kernel.EncodeAll(sample);
  const std::size_t words = kernel.words();
  double pairs = 0;
  for (std::size_t i = 0; i < sample.count(); ++i) {
    double row = 0;
    for (std::size_t j = 0; j < i; ++j) {
      row += sample.weight(j) * kernel.Value(codes.data() + i * words, codes.data() + j * words);
    }
    pairs += sample.weight(i) * row;
  }
  return Combine(sample, kernel, pairs);
}

double DeviceDiscrepancy(const PermutationSample& sample, const PermutationKernel& kernel) {
  Check(sample, kernel);
#if defined(RETABLE_HAS_CUDA)
  std::vector<double> weights;
  for (std::size_t i = 0; i < sample.count(); ++i) weights.push_back(sample.weight(i));
  return Combine(sample, kernel, WeightedPairs(kernel.Tables(), sample.orders, weights));
#else
  throw std::runtime_error("the discrepancy on a device: this build has no CUDA");
#endif
}

}  // namespace retable::shapley
