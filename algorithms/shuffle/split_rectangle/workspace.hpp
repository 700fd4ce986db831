#pragma once
//! @file
//! The split rectangle on device memory, for the methods built on it.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "algorithms/shuffle/split_rectangle/buckets.hpp"

namespace retable::shuffle {

class SplitRectangleWorkspace {
 public:
  explicit SplitRectangleWorkspace(std::int64_t bucket_items = 0);
  ~SplitRectangleWorkspace();

  //! As CudaShuffler::prepare and enqueue: room for n items and some hundredths more where they are
  //! split, none elsewhere. Three kernels, or one.
  void Prepare(std::uint64_t n, std::size_t item_bytes);
  void Enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream);

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
  std::int64_t bucket_items_;
};

}  // namespace retable::shuffle
