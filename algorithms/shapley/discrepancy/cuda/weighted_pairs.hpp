#pragma once
//! @file
//! The discrepancy on a CUDA device.

#include <cstdint>
#include <span>

#include "algorithms/shapley/kernels/permutation_kernel.hpp"

namespace retable::shapley {

//! sum_{j < i} w_i w_j K(i, j) over n orders, row-major. The same bits on every call: partial sums
//! are joined in a fixed order. @throws std::invalid_argument for d over 12288, std::runtime_error
//! when the device refuses.
double WeightedPairs(const KernelTables& kernel, std::span<const std::int32_t> orders,
                     std::span<const double> weights);

}  // namespace retable::shapley
