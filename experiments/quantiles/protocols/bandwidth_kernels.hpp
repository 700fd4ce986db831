#pragma once
//! @file
//! Device kernels of the bandwidth protocol: generated data, and the plain read to compare with.

#include <cstddef>
#include <cstdint>

namespace retable::quantiles {

enum class Shape { kNormal, kOffsetNormal, kLognormal, kPixel };

//! Fills device memory with floats or doubles of a shape, a pure function of seed and index.
template <class Real>
void FillDevice(Real* out, std::size_t n, Shape shape, std::uint64_t seed);

//! Reads everything once and writes one sum a block: the time of a read. `scratch` holds 4096
//! doubles.
template <class Real>
void EnqueuePlainRead(const Real* values, std::size_t n, double* scratch);

}  // namespace retable::quantiles
