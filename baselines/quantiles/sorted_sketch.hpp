#pragma once
//! @file
//! The exact answer: keeps every value, sorts them on demand. O(n) memory, O(n log n) a query. What
//! every other method is measured against.

#include <memory>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

std::unique_ptr<QuantileSketch> MakeSortedSketch();

}  // namespace retable::quantiles
