#pragma once
//! @file
//! What the check of the CUDA methods and the bandwidth protocol need on the device: fresh data,
//! and the floor to compare to.

#include <cstddef>
#include <cstdint>

namespace retable::quantiles {

enum class Shape { kNormal, kOffsetNormal, kLognormal, kPixel, kTimestamp };

//! Fills device memory with values of a shape, a pure function of seed and index.
void FillDevice(float* out, std::size_t n, Shape shape, std::uint64_t seed);
void FillDevice(double* out, std::size_t n, Shape shape, std::uint64_t seed);

//! Reads everything once and writes one sum a block: the time of a read. `scratch` holds 4096
//! doubles.
void EnqueuePlainRead(const float* values, std::size_t n, double* scratch);
void EnqueuePlainRead(const double* values, std::size_t n, double* scratch);

}  // namespace retable::quantiles
