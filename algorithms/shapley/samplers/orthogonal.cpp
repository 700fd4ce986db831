//! @file
//! Orthogonal spherical codes: the 2 (d - 1) orders nearest to the vectors of a random orthonormal
//! basis and to their opposites; far apart in Kendall's distance, each uniform.
//!
//! The basis is by Householder's QR (samplers/reflections.hpp); Gram and Schmidt's process loses
//! orthogonality at large d. O(d^3) a block, O(d^2) an order; 2 d^2 doubles. An n that is no
//! multiple of 2 (d - 1) cuts the last block short, which keeps each order uniform; only the
//! vectors that are taken are computed. Mitchell et al. 2022, algorithm 3. CUDA backend:
//! samplers/cuda/device_points.cu.

#include <algorithm>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/reflections.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"
#include "base/simd_target.hpp"

namespace retable::shapley {
namespace {

// y -= by w
RETABLE_CLONES void Subtract(double by, const double* w, double* y, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) y[k] -= by * w[k];
}

class Orthogonal final : public PermutationSampler {
 public:
  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    PermutationSample sample = EmptySample(n, d);
    if (d == 1) return sample;  // the only order there is
    const auto side = static_cast<std::size_t>(d) - 1;
    RandomBasis basis(side);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t in_block = i % (2 * side);
      if (in_block == 0) basis.Draw(seed, i / (2 * side), std::min(side, (n - i + 1) / 2));
      const auto column = basis.column(in_block / 2);
      if (in_block % 2 == 1) {
        for (double& x : column) x = -x;
      }
      NearestOrder(column, sample.order(i));
    }
    return sample;
  }
};

}  // namespace

RandomBasis::RandomBasis(std::size_t side)
    : side_(side),
      stride_(ColumnStride(side)),
      reflection_(side * stride_),
      basis_(side * stride_) {}

void RandomBasis::Draw(std::uint64_t seed, std::uint64_t matrix, std::size_t columns) {
  constexpr std::size_t kTogether = 8;  // so that a reflection is read once for all of them
  std::fill(reflection_.begin(), reflection_.end(), 0.0);
  const auto value = [&](std::size_t i) -> double& {
    return reflection_[i / side_ * stride_ + i % side_];
  };
  const std::size_t values = columns * side_;
  for (std::size_t i = 0; i < values; i += 2) {
    const NormalPair pair = NormalsOf(seed, matrix, i / 2);
    value(i) = pair.first;
    if (i + 1 < values) value(i + 1) = pair.second;
  }
  for (std::size_t first = 0; first < columns; first += kTogether) {
    const std::size_t last = std::min(columns, first + kTogether);
    for (std::size_t k = 0; k < last; ++k) {
      if (k >= first) Reflect(k);
      for (std::size_t j = std::max(first, k + 1); j < last; ++j) Apply(k, reflection_, j);
    }
  }
  std::fill(basis_.begin(), basis_.end(), 0.0);
  for (std::size_t first = 0; first < columns; first += kTogether) {
    const std::size_t last = std::min(columns, first + kTogether);
    for (std::size_t j = first; j < last; ++j) {
      basis_[j * stride_ + j] = BasisSign(reflection_[j * stride_ + j]);
    }
    for (std::size_t k = last; k-- > 0;) {
      for (std::size_t j = std::max(first, k); j < last; ++j) Apply(k, basis_, j);
    }
  }
}

void RandomBasis::Reflect(std::size_t k) {
  double* column = reflection_.data() + k * stride_;
  std::fill_n(column, k, 0.0);
  const std::size_t from = k / kDotLanes * kDotLanes;
  const double square = LaneDot(column + from, column + from, side_ - from);
  const Reflection reflection = Reflection::Of(column[k], square);
  column[k] = reflection.head;
  for (std::size_t i = k; i < side_; ++i) column[i] *= reflection.scale;
}

void RandomBasis::Apply(std::size_t k, std::vector<double>& matrix, std::size_t j) const {
  const std::size_t from = k / kDotLanes * kDotLanes, count = side_ - from;
  const double* w = reflection_.data() + k * stride_ + from;
  double* y = matrix.data() + j * stride_ + from;
  Subtract(LaneDot(w, y, count), w, y, count);
}

RETABLE_REGISTER(PermutationSampler, orthogonal,
                 {.name = "Orthogonal",
                  .summary = "orthogonal spherical codes: nearest permutations of a random basis",
                  .citation = "Mitchell et al. 2022, algorithm 3",
                  .make = [](const Parameters&) { return std::make_unique<Orthogonal>(); }});

}  // namespace retable::shapley
