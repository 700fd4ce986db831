#pragma once
//! @file
//! The generalised Feistel cipher's shuffle on device memory, for the methods built on it.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"

namespace retable::shuffle {

class FeistelGather {
 public:
  //! As CudaShuffler::prepare and enqueue; needs no device memory. The sides of the rectangle are
  //! kept from call to call: finding them takes the host longer than the rest of a launch.
  void Prepare(std::uint64_t n);
  void Enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream);

 private:
  std::uint64_t n_ = 0;
  FeistelCipher cipher_;
};

}  // namespace retable::shuffle
