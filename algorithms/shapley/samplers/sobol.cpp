//! @file
//! Sobol permutations: a scrambled Sobol sequence in the cube, taken to the sphere by its angles,
//! taken to the nearest orders.
//!
//! The sequence has d - 2 dimensions. Which players a coordinate moves depends on their numbers;
//! with `relabel` players are renamed at random, once a sample. O(d) inverse incomplete beta
//! functions (samplers/sphere.hpp), O(n d log d) beside. Limit: d - 2 <= 3667 dimensions. Sobol
//! 1967; Mitchell et al. 2022, algorithm 4. CUDA backend: samplers/cuda/device_points.cu.

#include "algorithms/shapley/samplers/sobol.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/random/sobol.hpp>

#include "algorithms/common/philox.hpp"
#include "algorithms/common/require.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kSobolStream = 4;
constexpr int kBits = 32;
constexpr std::size_t kMostCoordinates = 3667;

// One coordinate's random map of digits: digit k (0 is the highest) of the result is the parity of
// the digits 0..k of the input under a mask, plus a random digit.
class Scramble {
 public:
  Scramble(std::uint64_t seed, std::size_t coordinate) {
    const Philox4x32 random = Philox4x32::FromSeed(seed);
    const std::uint64_t first = static_cast<std::uint64_t>(coordinate) * 16;
    for (int k = 0; k < kBits; ++k) {
      const std::uint32_t word =
          random.Block(first + static_cast<std::uint64_t>(k) / 4, kSobolStream).word[k % 4];
      const std::uint32_t own = std::uint32_t{1} << (kBits - 1 - k);
      const std::uint32_t above = ~(own | (own - 1));
      mask_[static_cast<std::size_t>(k)] = (word & above) | own;
    }
    shift_ = random.Block(first + 8, kSobolStream).word[0];
  }

  std::uint32_t shift() const { return shift_; }
  std::uint32_t Turn(std::uint32_t x) const {
    std::uint32_t y = 0;
    for (const std::uint32_t mask : mask_) {
      y = (y << 1) | static_cast<std::uint32_t>(std::popcount(x & mask) & 1);
    }
    return y;
  }

 private:
  std::array<std::uint32_t, kBits> mask_;
  std::uint32_t shift_;
};

class Sobol final : public PermutationSampler {
 public:
  explicit Sobol(bool relabel) : relabel_(relabel) {}

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    PermutationSample sample = EmptySample(n, d);
    if (d == 2) AlternatePair(sample, seed);
    if (d <= 2) return sample;
    const auto angles = static_cast<std::size_t>(d) - 2;
    const ScrambledSobol sequence(seed, angles, n);
    const SphereFromCube on_sphere(angles, n);
    std::vector<double> u(angles), x(angles + 1);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < angles; ++j) u[j] = CoordinateOf(sequence, i, j);
      on_sphere(u, x);
      NearestOrder(x, sample.order(i));
    }
    if (relabel_) Relabel(sample, seed, kSobolLabelStream);
    return sample;
  }

 private:
  // The sphere of two players has two points and no angle: take them in turn from a random start.
  static void AlternatePair(PermutationSample& sample, std::uint64_t seed) {
    const std::uint32_t start = Philox4x32::FromSeed(seed).Block(0, kSobolStream).word[0] & 1;
    for (std::size_t i = 0; i < sample.count(); ++i) {
      const auto first = static_cast<std::int32_t>((start + i) & 1);
      sample.orders[2 * i] = first;
      sample.orders[2 * i + 1] = 1 - first;
    }
  }

  bool relabel_;
};

}  // namespace

ScrambledSobol::ScrambledSobol(std::uint64_t seed, std::size_t all, std::size_t points)
    : coordinates(all) {
  Require(all <= kMostCoordinates, "Sobol: at most 3669 players, the tables end there");
  std::vector<Scramble> scrambles;
  for (std::size_t j = 0; j < all; ++j) {
    scrambles.emplace_back(seed, j);
    shift.push_back(scrambles.back().shift());
  }
  boost::random::sobol_engine<std::uint32_t, kBits> sequence(all);
  const auto digits = static_cast<int>(std::bit_width(std::max<std::size_t>(points, 1) - 1));
  for (int digit = 0; digit < digits; ++digit) {
    // Boost leaves out the first point, zero, without which the first 2^k are no net. The next that
    // it gives is the one of this digit alone.
    sequence.seed(static_cast<std::uint32_t>((std::uint64_t{2} << digit) - 2));
    for (std::size_t j = 0; j < all; ++j) directions.push_back(scrambles[j].Turn(sequence()));
  }
}

RETABLE_REGISTER(PermutationSampler, sobol,
                 {.name = "Sobol",
                  .summary = "scrambled Sobol points on the sphere, to the nearest permutations",
                  .citation = "Mitchell et al. 2022, algorithm 4",
                  .parameters = {{"relabel", false, "players renamed at random"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<Sobol>(SwitchParameter(p, "relabel", false));
                  }});

}  // namespace retable::shapley
