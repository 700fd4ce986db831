//! @file
//! Sobol permutations: a scrambled Sobol sequence in the cube, taken to the sphere by its angles,
//! taken to the nearest orders.
//!
//! The sequence is Boost.Random's, of d - 2 dimensions, 32 bits a coordinate. It is made random by
//! a linear scramble (a random lower triangular binary matrix for each coordinate; Matousek 1998)
//! and a digital shift, which keep its equidistribution and make each point uniform, hence each
//! order. Which players a coordinate moves depends on their numbers; with `relabel` players are
//! renamed at random, once a sample. O(d) inverse incomplete beta functions (samplers/sphere.hpp),
//! O(n d log d) beside. Limit: d - 2 <= 3667 dimensions. Sobol 1967; Mitchell et al. 2022,
//! algorithm 4.

#include <array>
#include <boost/random/sobol.hpp>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kSobolStream = 4, kLabelStream = 15;
constexpr int kBits = 32;
constexpr int kLargestDimension = 3667;

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

  // In (0, 1), half a step from both ends.
  double operator()(std::uint32_t x) const {
    std::uint32_t y = 0;
    for (const std::uint32_t mask : mask_) {
      y = (y << 1) | static_cast<std::uint32_t>(CountOnes(x & mask) & 1);
    }
    return (static_cast<double>(y ^ shift_) + 0.5) * 0x1p-32;
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
    const auto players = static_cast<std::size_t>(d);
    if (d > kLargestDimension + 2) {
      throw std::invalid_argument("Sobol: at most 3669 players, the tables end there");
    }
    if (d == 2) AlternatePair(sample, seed);
    if (d <= 2) return sample;
    const std::size_t angles = players - 2;
    boost::random::sobol_engine<std::uint32_t, kBits> sequence(angles);
    std::vector<Scramble> scrambles;
    for (std::size_t j = 0; j < angles; ++j) scrambles.emplace_back(seed, j);
    const SphereFromCube on_sphere(angles, n);
    std::vector<double> u(angles), x(angles + 1);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < angles; ++j) {
        // Boost leaves out the first point, zero, without which the first 2^k are no net.
        u[j] = scrambles[j](i == 0 ? 0 : sequence());
      }
      on_sphere(u, x);
      NearestOrder(x, std::span(sample.orders).subspan(i * players, players));
    }
    if (relabel_) {
      std::vector<std::int32_t> label(players);
      UniformOrder(seed, kLabelStream, 0, label);
      for (auto& player : sample.orders) player = label[static_cast<std::size_t>(player)];
    }
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

RETABLE_REGISTER(PermutationSampler, sobol,
                 {.name = "Sobol",
                  .device = Device::kCpu,
                  .summary = "scrambled Sobol points on the sphere, to the nearest permutations",
                  .citation = "Mitchell et al. 2022, algorithm 4",
                  .parameters = {{"relabel", false, "players renamed at random"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<PermutationSampler> {
                    return std::make_unique<Sobol>(SwitchParameter(p, "relabel", false));
                  }});

}  // namespace retable::shapley
