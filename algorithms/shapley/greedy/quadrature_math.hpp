#pragma once
//! @file
//! What herding and sequential Bayesian quadrature share on the CPU and on a CUDA device: the
//! stream of candidates, the options, and the arithmetic of quadrature in an order of its own, so
//! that both devices choose the same permutations and give the same weights, bit for bit.
//!
//! A dot product is 32 partial sums (entry i goes to sum i % 32, in ascending order, a product
//! rounded before it is added) joined in a tree; a warp has a lane for each, a CPU a register for
//! every eight.

#include <cstddef>
#include <cstdint>

#include "base/cuda/host_device.hpp"

namespace retable::shapley {

constexpr std::uint64_t kGreedyStream = 2;  //!< its block step * candidates + c: a candidate
constexpr int kDotLanes = 32;

//! c + a b, both roundings kept.
RETABLE_HD double AddProduct(double c, double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(c, __dmul_rn(a, b));
#else
  return c + a * b;
#endif
}

//! The diagonal of the kernel matrix with its ridge, and the least square a pivot may have.
struct QuadratureScale {
  double diagonal = 1, least = 0;
  static QuadratureScale Of(double self) {
    constexpr double kRidge = 1e-8;
    return {self * (1 + kRidge), self * kRidge};
  }
};

//! What a candidate's row a = L^-1 k has come to so far.
struct RowSums {
  double squares = 0;  //!< a . a
  double along = 0;    //!< a . v

  RETABLE_HD void Add(double a, double v) {
    squares = AddProduct(squares, a, a);
    along = AddProduct(along, a, v);
  }
  RETABLE_HD double Pivot(const QuadratureScale& scale) const {
    const double pivot = scale.diagonal - squares;
    return pivot > scale.least ? pivot : scale.least;
  }
  //! How much 1' K^-1 1 grows by this candidate.
  RETABLE_HD double Gain(const QuadratureScale& scale) const {
    const double residual = 1 - along;
    return residual * residual / Pivot(scale);
  }
};

//! a . b over n entries, rounded up to a multiple of 32: entries beyond n must be there, finite,
//! and zero in one of the two.
double LaneDot(const double* a, const double* b, std::size_t n);

}  // namespace retable::shapley
