#pragma once
//! @file
//! CUDA implementations of the moment accumulators.

#include <memory>

#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {

//! Raw power sums by tree reduction. @throws as MakeNaiveAccumulator; std::runtime_error without a
//! device.
std::unique_ptr<MomentAccumulator> MakeNaiveAccumulatorCuda(int order);
//! Central sums by tree reduction with Pebay's merge (eq. 12).
std::unique_ptr<MomentAccumulator> MakeCentralAccumulatorCuda(int order);

}  // namespace retable::quantiles
