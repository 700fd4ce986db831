#pragma once
//! @file
//! Random orthonormal bases by Householder's QR of a matrix of normal variables, with the signs of
//! R's diagonal taken into Q so that Q has Haar's distribution (Mezzadri 2007).
//!
//! Column k is left as w with H_k = I - w w': zero above k, and of square 2. Column j of the basis
//! is H_0 .. H_j applied to +-e_j. Sums are LaneDot's, entries by their row, so that a CPU and a
//! CUDA device get the same bits. Rows of a column are padded with zeros.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/samplers/elementary.hpp"

namespace retable::shapley {

//! Doubles from a column to the next, for a matrix of `side` columns: there is room for side + 1.
RETABLE_HD std::size_t ColumnStride(std::size_t side) {
  return side / kDotLanes * kDotLanes + kDotLanes;
}

struct NormalPair {
  double first, second;
};

//! Standard normal variables number 2 pair and 2 pair + 1 of the matrix, column by column, by Box
//! and Muller.
RETABLE_HD NormalPair NormalsOf(std::uint64_t seed, std::uint64_t matrix, std::uint64_t pair) {
  constexpr std::uint64_t kOrthogonalStream = 3;
  const PhiloxBlock bits =
      Philox4x32::FromSeed(seed).Block((matrix << 32) + pair, kOrthogonalStream);
  const double radius = sqrt(-2 * LogOf(UniformDoubleOpenBelow(bits.half(0))));
  const Direction direction = DirectionOf(UniformDouble(bits.half(1)));
  return {radius * direction.cosine, radius * direction.sine};
}

//! What takes column k, whose entries from k on are `head` and others, with `square` the sum of
//! their squares, to w: `head` is replaced, then all are scaled. R's diagonal has the other sign.
struct Reflection {
  double head, scale;
  static RETABLE_HD Reflection Of(double head, double square) {
    const double length = sqrt(square);
    const double half = AddProduct(square, fabs(head), length);  // of the new square
    return {head + copysign(length, head), half > 0 ? 1 / sqrt(half) : 0};
  }
};

//! The entry of +-e_j that becomes the basis's column j.
RETABLE_HD double BasisSign(double reflected_head) {
  return reflected_head > 0 ? -1 : 1;
}

//! The first columns of a random orthonormal basis of R^side. O(side^2 columns).
class RandomBasis {
 public:
  explicit RandomBasis(std::size_t side);
  //! Basis number `matrix` of the seed, as many of its columns as are asked for.
  void Draw(std::uint64_t seed, std::uint64_t matrix, std::size_t columns);
  std::span<double> column(std::size_t j) { return std::span(basis_).subspan(j * stride_, side_); }

 private:
  void Reflect(std::size_t k);
  void Apply(std::size_t k, std::vector<double>& matrix, std::size_t j) const;

  std::size_t side_, stride_;
  std::vector<double> reflection_, basis_;
};

}  // namespace retable::shapley
