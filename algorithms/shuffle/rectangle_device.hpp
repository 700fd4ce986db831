#pragma once
//! @file
//! The rectangle cipher's shuffle on device memory, for the methods built on it.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "algorithms/shuffle/cuda_shuffler.hpp"

namespace retable::shuffle {

//! As CudaShuffler::enqueue; needs no workspace.
void EnqueueRectangle(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                      std::uint64_t seed, cudaStream_t stream);

}  // namespace retable::shuffle
