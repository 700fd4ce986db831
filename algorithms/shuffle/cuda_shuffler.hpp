#pragma once
//! @file
//! The contract of a CUDA implementation: the host contract, and the same on device memory and a
//! stream.

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {

class CudaShuffler : public Shuffler {
 public:
  //! Allocates what shuffles of up to n items of item_bytes need, so that enqueue allocates
  //! nothing.
  //! @throws std::runtime_error when the card has too little memory, std::invalid_argument when the
  //! method does not take such n.
  virtual void prepare(std::uint64_t n, std::size_t item_bytes) = 0;

  //! Enqueues the shuffle of n >= 1 items of 4, 8 or 16 bytes at device addresses (16-byte aligned,
  //! no overlap). prepare must have been called for at least n and this size.
  virtual void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                       std::uint64_t seed, cudaStream_t stream) = 0;

 protected:
  //! The host contract: copies in, enqueues, copies out.
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override;
};

//! The registered CUDA method of that name, with its defaults.
std::unique_ptr<CudaShuffler> MakeCudaShuffler(const std::string& name);

}  // namespace retable::shuffle
