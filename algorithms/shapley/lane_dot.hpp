#pragma once
//! @file
//! Sums of products in an order of their own, so that a CPU and a CUDA device get the same bits.
//!
//! A dot product is 32 partial sums (entry i goes to sum i % 32, in ascending order, a product
//! rounded before it is added) joined in a tree; a warp has a lane for each, a CPU a register for
//! every eight.

#include <cstddef>

#include "base/cuda/host_device.hpp"

namespace retable::shapley {

constexpr int kDotLanes = 32;

//! c + a b, both roundings kept.
RETABLE_HD double AddProduct(double c, double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(c, __dmul_rn(a, b));
#else
  return c + a * b;
#endif
}

//! a . b over n entries, rounded up to a multiple of 32: entries beyond n must be there, finite,
//! and zero in one of the two.
double LaneDot(const double* a, const double* b, std::size_t n);

}  // namespace retable::shapley
