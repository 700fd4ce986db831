#include "algorithms/shuffle/selection/sample.hpp"

#include <cstring>
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

void SampleRows(const void* in, void* out, std::uint64_t n, std::uint64_t k, std::size_t row_bytes,
                std::uint64_t seed) {
  if (row_bytes == 0) throw std::invalid_argument("row_bytes is 0: give the size of one row");
  const std::vector<std::uint64_t> sample = SampleWithoutReplacement(n, k, seed);
  if (k > 0 && (in == nullptr || out == nullptr)) {
    throw std::invalid_argument("a buffer is null but there are rows to move");
  }
  const auto* rows = static_cast<const std::byte*>(in);
  auto* target = static_cast<std::byte*>(out);
  for (std::uint64_t j = 0; j < k; ++j) {
    std::memcpy(target + j * row_bytes, rows + sample[j] * row_bytes, row_bytes);
  }
}

}  // namespace retable::shuffle
