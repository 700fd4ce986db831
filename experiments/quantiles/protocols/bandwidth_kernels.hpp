#pragma once
//! @file
//! Device kernels of the bandwidth protocol: generated data, and the plain read to compare with.

#include <cstddef>
#include <cstdint>

namespace retable::quantiles {

enum class Shape { kNormal, kOffsetNormal, kLognormal, kPixel };

//! Fills device memory with values of a shape, a pure function of seed and index.
void FillDevice(float* out, std::size_t n, Shape shape, std::uint64_t seed);
void FillDevice(double* out, std::size_t n, Shape shape, std::uint64_t seed);

//! Reads everything once and writes one sum a block: the time of a read. `scratch` holds 4096
//! doubles.
void EnqueuePlainRead(const float* values, std::size_t n, double* scratch);
void EnqueuePlainRead(const double* values, std::size_t n, double* scratch);

}  // namespace retable::quantiles
