#pragma once
//! @file
//! What every method does with the rows and the results of a batch on the device.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace retable::treeshap {

//! x[column][place] = rows[order[place]][column], infinities clamped, 0 beyond `count`; order: null
//! for the rows' own. `stride`: a multiple of 32.
void TransposeRows(const float* rows, const std::uint32_t* order, std::uint32_t count,
                   std::uint32_t columns, std::uint32_t stride, float* x, cudaStream_t stream);

//! Rounds results to float on the stream.
void RoundResults(const double* from, std::size_t count, float* to, cudaStream_t stream);

}  // namespace retable::treeshap
