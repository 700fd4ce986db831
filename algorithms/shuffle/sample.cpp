#include "algorithms/shuffle/sample.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/bijection.hpp"

namespace retable::shuffle {

std::vector<std::uint64_t> SampleWithoutReplacement(std::uint64_t n, std::uint64_t k,
                                                    std::uint64_t seed) {
  if (k > n) {
    throw std::invalid_argument("cannot take " + std::to_string(k) + " of " + std::to_string(n) +
                                " items without replacement");
  }
  const MendedPhilox f = MakeMendedPhilox(n, seed);
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
