#pragma once
//! @file
//! What comes before and after the levels: the trees' sample lists and roots, the counts of mixed
//! leaves.

#include "algorithms/extratrees/frontier_node.cuh"

namespace retable::extratrees::frontier {

inline __global__ void FillIds(std::uint32_t* ids, std::uint32_t rows, std::uint32_t trees) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (std::uint32_t t = blockIdx.y; t < trees; t += gridDim.y)
    ids[std::size_t{t} * rows + row] = row;
}

inline __global__ void CountBootstrap(std::uint32_t* counts, std::uint32_t rows,
                                      std::uint32_t trees, std::uint32_t first_tree,
                                      std::uint64_t seed) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  for (std::uint32_t t = blockIdx.y; t < trees; t += gridDim.y) {
    atomicAdd(counts + std::size_t{t} * rows + BootstrapRow(seed, first_tree + t, i, rows), 1u);
  }
}

//! One block a tree: row r repeated counts[r] times, in order.
inline __global__ void __launch_bounds__(1024)
    ExpandBootstrap(const std::uint32_t* counts, std::uint32_t* ids, std::uint32_t rows) {
  __shared__ std::uint32_t sums[1024];
  const std::uint32_t* mine = counts + std::size_t{blockIdx.x} * rows;
  std::uint32_t* out = ids + std::size_t{blockIdx.x} * rows;
  const std::uint32_t share = (rows + 1023) / 1024;
  const std::uint32_t first = min(threadIdx.x * share, rows);
  const std::uint32_t last = min(first + share, rows);
  std::uint32_t sum = 0;
  for (std::uint32_t r = first; r < last; ++r) sum += mine[r];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (std::uint32_t step = 1; step < 1024; step *= 2) {
    const std::uint32_t other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  std::uint32_t at = sums[threadIdx.x] - sum;
  for (std::uint32_t r = first; r < last; ++r) {
    for (std::uint32_t j = 0; j < mine[r]; ++j) out[at++] = r;
  }
}

//! One thread a tree: the root with its class counts, found by bisection in the ascending ids.
template <class Code>
__global__ void MakeRoots(const Problem<Code> p) {
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= p.trees) return;
  const std::uint32_t* ids = p.ids[0] + std::size_t{t} * p.rows;
  std::uint64_t squares = 0;
  std::uint32_t from = 0;
  for (std::uint32_t c = 0; c < p.classes; ++c) {
    std::uint32_t low = from;
    std::uint32_t high = p.rows;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (ids[middle] < p.class_start[c + 1]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    squares += std::uint64_t{low - from} * (low - from);
    from = low;
  }
  Task root{};
  root.path = kRootPath;
  root.node = t;
  root.count = p.rows;
  root.tree = t;
  MakeNode(p, root, squares);
}

template <class Code>
void StartTrees(const Problem<Code>& p, bool bootstrap) {
  const dim3 grid((p.rows + 255) / 256, std::min(p.trees, 65535u));
  if (bootstrap) {
    const std::size_t bytes = std::size_t{p.trees} * p.rows * sizeof(std::uint32_t);
    RETABLE_CUDA_CHECK(cudaMemsetAsync(p.ids[1], 0, bytes));
    CountBootstrap<<<grid, 256>>>(p.ids[1], p.rows, p.trees, p.first_tree, p.seed);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    ExpandBootstrap<<<p.trees, 1024>>>(p.ids[1], p.ids[0], p.rows);
  } else {
    FillIds<<<grid, 256>>>(p.ids[0], p.rows, p.trees);
  }
  RETABLE_CUDA_CHECK(cudaGetLastError());
  MakeRoots<Code><<<(p.trees + 127) / 128, 128>>>(p);
}

//! One warp a mixed leaf.
template <class Code>
__global__ void CountMixedLeaves(const Problem<Code> p, const Task* leaves, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * 8 + (threadIdx.x >> 5);
  if (i >= count) return;
  const Task leaf = leaves[i];
  const std::uint32_t* ids = p.ids[leaf.side] + std::size_t{leaf.tree} * p.rows + leaf.begin;
  for (std::uint32_t s = threadIdx.x & 31; s < leaf.count; s += 32) {
    atomicAdd(p.leaf_counts + std::size_t{i} * p.classes + p.class_of[ids[s]], 1u);
  }
  if ((threadIdx.x & 31) == 0) p.hot[leaf.node].value = kMixed | i;
}

template <class Code>
void CountMixed(const Problem<Code>& p, const Task* leaves, std::uint32_t count) {
  const std::size_t bytes = std::size_t{count} * p.classes * sizeof(std::uint32_t);
  RETABLE_CUDA_CHECK(cudaMemsetAsync(p.leaf_counts, 0, bytes));
  CountMixedLeaves<Code><<<(count + 7) / 8, 256>>>(p, leaves, count);
}

}  // namespace retable::extratrees::frontier
