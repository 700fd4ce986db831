#pragma once
//! @file
//! What herding and sequential Bayesian quadrature share on the CPU and on a CUDA device: the
//! stream of candidates, the options, and the arithmetic of quadrature in an order of its own, so
//! that both devices choose the same permutations and give the same weights, bit for bit.

#include <cstdint>

#include "algorithms/shapley/lane_dot.hpp"

namespace retable::shapley {

constexpr std::uint64_t kGreedyStream = 2;  //!< its block step * candidates + c: a candidate

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

}  // namespace retable::shapley
