//! @file
//! Plain and antithetic Monte Carlo: independent uniform orders, and each followed by its reverse.

#include <algorithm>

#include "algorithms/shapley/permutation_sampler.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kMonteCarloStream = 1;

class MonteCarlo final : public PermutationSampler {
 public:
  explicit MonteCarlo(bool antithetic) : antithetic_(antithetic) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    PermutationSample sample = EmptySample(n, d);
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = sample.order(i);
      if (!antithetic_ || i % 2 == 0) {
        UniformOrder(seed, kMonteCarloStream, antithetic_ ? i / 2 : i, row);
      } else {
        const auto before = sample.order(i - 1);
        std::reverse_copy(before.begin(), before.end(), row.begin());
      }
    }
    return sample;
  }

 private:
  bool antithetic_;
};

}  // namespace

RETABLE_REGISTER(PermutationSampler, monte_carlo,
                 {.name = "MC",
                  .summary = "independent uniform permutations",
                  .citation = "Mann and Shapley 1960; Castro et al. 2009",
                  .make = [](const Parameters&) { return std::make_unique<MonteCarlo>(false); }});
RETABLE_REGISTER(PermutationSampler, antithetic,
                 {.name = "MC-antithetic",
                  .summary = "uniform permutations, each followed by its reverse",
                  .citation = "Lomeli et al. 2019; Mitchell et al. 2022, section 2.4",
                  .make = [](const Parameters&) { return std::make_unique<MonteCarlo>(true); }});

}  // namespace retable::shapley
