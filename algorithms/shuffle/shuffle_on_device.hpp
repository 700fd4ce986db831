#pragma once
//! @file
//! Shuffles of items of any size, by any CUDA method, in device memory.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace retable::shuffle {

//! Enqueues the shuffle of n items by a CUDA method's name, at device addresses of any alignment,
//! to the order of Shuffler::shuffle. Each thread keeps, for each method and device, the memory of
//! its largest call. @throws as CheckBuffers and CudaShuffler::prepare do
void ShuffleOnDevice(const std::string& method, const void* in, void* out, std::uint64_t n,
                     std::size_t item_bytes, std::uint64_t seed, cudaStream_t stream);

}  // namespace retable::shuffle
