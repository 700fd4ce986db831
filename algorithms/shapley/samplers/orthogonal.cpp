//! @file
//! Orthogonal spherical codes: the 2 (d - 1) orders nearest to the vectors of a random orthonormal
//! basis and to their opposites; far apart in Kendall's distance, each uniform.
//!
//! The basis is Householder's QR of a matrix of normal variables, with the signs of R's diagonal
//! taken into Q so that Q has Haar's distribution (Mezzadri 2007); Gram and Schmidt's process loses
//! orthogonality at large d. O(d^3) a block, O(d^2) an order; d^2 doubles. An n that is no multiple
//! of 2 (d - 1) cuts the last block short, which keeps each order uniform. Mitchell et al. 2022,
//! algorithm 3.

#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kOrthogonalStream = 3;

// Standard normal variables by Box and Muller.
Eigen::MatrixXd NormalMatrix(std::uint64_t seed, std::uint64_t block, Eigen::Index side) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  Eigen::MatrixXd x(side, side);
  for (Eigen::Index i = 0; i < x.size(); i += 2) {
    const PhiloxBlock bits =
        random.Block((block << 32) + static_cast<std::uint64_t>(i) / 2, kOrthogonalStream);
    const double radius = std::sqrt(-2 * std::log(UniformDoubleOpenBelow(bits.half(0))));
    const double angle = 2 * std::numbers::pi * UniformDouble(bits.half(1));
    x.data()[i] = radius * std::cos(angle);
    if (i + 1 < x.size()) x.data()[i + 1] = radius * std::sin(angle);
  }
  return x;
}

Eigen::MatrixXd RandomBasis(std::uint64_t seed, std::uint64_t block, Eigen::Index side) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(NormalMatrix(seed, block, side));
  Eigen::MatrixXd q = qr.householderQ();
  for (Eigen::Index j = 0; j < side; ++j) {
    if (qr.matrixQR()(j, j) < 0) q.col(j) = -q.col(j);
  }
  return q;
}

class Orthogonal final : public PermutationSampler {
 public:
  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    PermutationSample sample = EmptySample(n, d);
    if (d == 1) return sample;  // the only order there is
    const auto players = static_cast<std::size_t>(d);
    const std::size_t side = players - 1;
    Eigen::MatrixXd basis;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t in_block = i % (2 * side);
      if (in_block == 0) {
        basis = RandomBasis(seed, i / (2 * side), static_cast<Eigen::Index>(side));
      }
      auto column = basis.col(static_cast<Eigen::Index>(in_block / 2));
      if (in_block % 2 == 1) column = -column;
      NearestOrder({column.data(), side}, std::span(sample.orders).subspan(i * players, players));
    }
    return sample;
  }
};

}  // namespace

RETABLE_REGISTER(PermutationSampler, orthogonal,
                 {.name = "Orthogonal",
                  .device = Device::kCpu,
                  .summary = "orthogonal spherical codes: nearest permutations of a random basis",
                  .citation = "Mitchell et al. 2022, algorithm 3",
                  .make = [](const Parameters&) -> std::unique_ptr<PermutationSampler> {
                    return std::make_unique<Orthogonal>();
                  }});

}  // namespace retable::shapley
