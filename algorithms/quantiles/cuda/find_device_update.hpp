#pragma once
//! @file
//! The device update of a sketch, for callers that hold values in device memory.

#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

//! The sketch's own update_device or that of its accumulator; nullptr if it has none.
DeviceUpdate* DeviceUpdateOf(QuantileSketch& sketch);

}  // namespace retable::quantiles
