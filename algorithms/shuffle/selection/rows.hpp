#pragma once
//! @file
//! Rows of a matrix in a given order on device memory. A row of many bytes is worth its own memory
//! accesses, so rows are not partitioned: the order is made without data and the rows are gathered
//! once. Bytes a row: 2 row_bytes, and 16 to 32 for the order.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace retable::shuffle {

//! Enqueues out[j] = in[index[j]] for `count` rows of row_bytes each. Buffers of device memory, no
//! overlap; rows move in words of 16, 8 or 4 bytes where addresses and row_bytes divide by them,
//! byte by byte else. @throws std::invalid_argument for row_bytes 0.
void EnqueueRowGather(const std::uint64_t* index, const void* in, void* out, std::uint64_t count,
                      std::size_t row_bytes, cudaStream_t stream);

}  // namespace retable::shuffle
