#pragma once
//! @file
//! Exact quantiles, the reference of all other methods: keeps every value and sorts on demand. O(n)
//! memory, O(n log n) a query.

#include <memory>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

std::unique_ptr<QuantileSketch> MakeSortedSketch();

}  // namespace retable::quantiles
