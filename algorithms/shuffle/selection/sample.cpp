#include "algorithms/shuffle/selection/sample.hpp"

#include <stdexcept>
#include <string>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {

std::vector<std::uint64_t> SampleWithoutReplacement(std::uint64_t n, std::uint64_t k,
                                                    std::uint64_t seed) {
  if (k > n) {
    throw std::invalid_argument("cannot take " + std::to_string(k) + " of " + std::to_string(n) +
                                " items without replacement");
  }
  const WhitenedPhilox f = MakeWhitenedPhilox(n, seed);
  RequireMemory("a sample of k =", k, sizeof(std::uint64_t));
  std::vector<std::uint64_t> sample;
  sample.reserve(k);
  std::uint64_t values[256];
  for (std::uint64_t x = 0; sample.size() < k; x += 256) {
    EvaluateMany(f, x, 256, values);  // the domain is a multiple of 256
    for (const std::uint64_t value : values) {
      if (value < n && sample.size() < k) sample.push_back(value);
    }
  }
  return sample;
}

}  // namespace retable::shuffle
