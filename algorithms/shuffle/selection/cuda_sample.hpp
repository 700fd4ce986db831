#pragma once
//! @file
//! k of n without replacement on device memory: the values of selection/sample.hpp.
//!
//! Blocks evaluate the bijection at x = 0, 1, ... and count the values below n; after a scan of the
//! counts they evaluate again and write the first k. So many x are taken that k values are found
//! but for 16 standard deviations. Two kernels of O(k N / n) evaluations, N < 2 max(n, 256), and a
//! scan; memory a word for 2048 evaluations: none of size n.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/cuda/memory.hpp"

namespace retable::shuffle {

class DeviceSample {
 public:
  //! Allocates for samples of up to k of up to n. @throws std::invalid_argument for k > n or
  //! n > 2^32.
  void Prepare(std::uint64_t n, std::uint64_t k);

  //! Enqueues the sample of SampleWithoutReplacement(n, k, seed) into `out`, k values of device
  //! memory. Index is uint32_t or uint64_t.
  template <class Index>
  void Enqueue(Index* out, std::uint64_t n, std::uint64_t k, std::uint64_t seed,
               cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> counts_;
};

}  // namespace retable::shuffle
