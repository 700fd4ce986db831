#pragma once
//! @file
//! Rows of a matrix in random order on device memory, all or some.
//!
//! A row of many bytes is worth its own memory accesses, so rows are not partitioned: the order is
//! made without data (a permutation by the partition shuffle, or a sample by the bijection) and the
//! rows are gathered once. Bytes a row: 2 row_bytes, and 12 to 32 for the order.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/partition/cuda/workspace.hpp"
#include "algorithms/shuffle/selection/cuda_sample.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

//! Enqueues out[j] = in[index[j]] for `count` rows of row_bytes each. Buffers of device memory, no
//! overlap; rows move in words of 16, 8 or 4 bytes where addresses and row_bytes divide by them,
//! byte by byte else. Index is uint32_t or uint64_t. @throws std::invalid_argument for row_bytes 0.
template <class Index>
void EnqueueRowGather(const Index* index, const void* in, void* out, std::uint64_t count,
                      std::size_t row_bytes, cudaStream_t stream);

class DeviceRows {
 public:
  //! Allocates for up to n rows, or for samples of up to k of them: 4 bytes a row of the output and
  //! the workspace of the order.
  void PrepareShuffle(std::uint64_t n);
  void PrepareSample(std::uint64_t n, std::uint64_t k);

  //! All n <= 2^31 rows in the order that "Partition" gives for (n, seed).
  void EnqueueShuffle(const void* in, void* out, std::uint64_t n, std::size_t row_bytes,
                      std::uint64_t seed, cudaStream_t stream);
  //! k rows of n <= 2^32, as SampleRows does.
  void EnqueueSample(const void* in, void* out, std::uint64_t n, std::uint64_t k,
                     std::size_t row_bytes, std::uint64_t seed, cudaStream_t stream);

 private:
  PartitionWorkspace partition_;
  DeviceSample sample_;
  DeviceArray<std::uint32_t> index_;
};

}  // namespace retable::shuffle
