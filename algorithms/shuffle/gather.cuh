#pragma once
//! @file
//! A gather on the GPU, out[j] = in[index(j)]: of a bijection's values, or of stored ones.

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cuda/memory.hpp"

namespace retable::shuffle {

//! Stored indices as a function.
struct StoredIndices {
  const std::uint32_t* indices;
  __device__ std::uint64_t operator()(std::uint64_t j) const { return __ldg(indices + j); }
};

//! Stores the first `count` values of a function.
template <int kThreads, class F>
__global__ void __launch_bounds__(kThreads)
    StoreValues(const F f, std::uint32_t* values, std::uint64_t count) {
  const std::uint64_t x = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (x < count) values[x] = static_cast<std::uint32_t>(f(x));
}

//! A thread has kEach independent loads under way before the first use.
template <int kThreads, int kEach, class Index, class Item>
__global__ void __launch_bounds__(kThreads)
    GatherItems(const Index index, const Item* __restrict__ in, Item* __restrict__ out,
                std::uint64_t n) {
  const std::uint64_t first = blockIdx.x * std::uint64_t{kThreads * kEach} + threadIdx.x;
  Item value[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint64_t j = first + e * kThreads;
    if (j < n) value[e] = in[index(j)];
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint64_t j = first + e * kThreads;
    if (j < n) out[j] = value[e];
  }
}

//! Enqueues the gather of n items.
template <int kThreads, int kEach, class Index, class Item>
void EnqueueGather(const Index& index, const Item* in, Item* out, std::uint64_t n,
                   cudaStream_t stream) {
  const std::uint64_t blocks = (n + kThreads * kEach - 1) / (kThreads * kEach);
  GatherItems<kThreads, kEach>
      <<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(index, in, out, n);
  CheckCuda(cudaGetLastError(), "GatherItems");
}

}  // namespace retable::shuffle
