#include "algorithms/shapley/discrepancy/discrepancy.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/common/require.hpp"

namespace retable::shapley {

double Discrepancy(const PermutationSample& sample, const PermutationKernel& kernel) {
  Require(sample.count() > 0, "the discrepancy of no permutations");
  Require(sample.dimension == kernel.dimension(), "kernel and sample are of different lengths");
  const auto codes = kernel.EncodeAll(sample);
  const std::size_t words = kernel.words();
  double pairs = 0, weights = 0, squares = 0;
  for (std::size_t i = 0; i < sample.count(); ++i) {
    double row = 0;
    for (std::size_t j = 0; j < i; ++j) {
      row += sample.weight(j) * kernel.Value(codes.data() + i * words, codes.data() + j * words);
    }
    pairs += sample.weight(i) * row;
    weights += sample.weight(i);
    squares += sample.weight(i) * sample.weight(i);
  }
  const double squared = kernel.Mean() * (1 - 2 * weights) + 2 * pairs + squares * kernel.Self();
  return std::sqrt(std::max(0.0, squared));
}

}  // namespace retable::shapley
