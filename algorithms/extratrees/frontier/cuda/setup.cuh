#pragma once
//! @file
//! What comes before and after the levels: the trees' sample lists and roots, the counts of mixed
//! leaves. Kernels are static: CUDA 12 ignores `inline` on them.

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/frontier/cuda/sums_node.cuh"

namespace retable::extratrees::frontier {

static __global__ void FillIds(std::uint32_t* ids, std::uint32_t rows, std::uint32_t trees) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (std::uint32_t t = blockIdx.y; t < trees; t += gridDim.y)
    ids[std::size_t{t} * rows + row] = row;
}

static __global__ void CountBootstrap(std::uint32_t* counts, std::uint32_t rows,
                                      std::uint32_t trees, std::uint32_t first_tree,
                                      std::uint64_t seed, const std::int64_t* up_to) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  for (std::uint32_t t = blockIdx.y; t < trees; t += gridDim.y) {
    atomicAdd(counts + std::size_t{t} * rows + DrawRow(seed, first_tree + t, i, rows, up_to), 1u);
  }
}

//! One block a tree: row r repeated counts[r] times, in order.
static __global__ void __launch_bounds__(1024)
    ExpandBootstrap(const std::uint32_t* counts, std::uint32_t* ids, std::uint32_t rows) {
  __shared__ std::uint32_t sums[1024];
  const std::uint32_t* mine = counts + std::size_t{blockIdx.x} * rows;
  std::uint32_t* out = ids + std::size_t{blockIdx.x} * rows;
  const std::uint32_t each = (rows + 1023) / 1024;
  const std::uint32_t first = min(threadIdx.x * each, rows);
  const std::uint32_t last = min(first + each, rows);
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

template <class Code>
__device__ Task RootTask(const Problem<Code>& p, std::uint32_t tree) {
  Task root{};
  root.path = kRootPath;
  root.node = tree;
  root.count = p.sizes.rows;
  root.tree = tree;
  return root;
}

//! One thread a tree: the root with its class counts, found by bisection in the ascending ids.
template <class Code>
__global__ void MakeRoots(const Problem<Code> p) {
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= p.sizes.trees) return;
  const std::uint32_t* ids = p.pool.ids[0] + std::size_t{t} * p.sizes.rows;
  std::uint64_t squares = 0;
  std::uint32_t from = 0;
  for (std::uint32_t c = 0; c < p.sizes.classes; ++c) {
    const std::uint32_t end = LowerBound(ids, p.sizes.rows, p.data.class_start[c + 1]);
    squares += std::uint64_t{end - from} * (end - from);
    from = end;
  }
  MakeNode(p, RootTask(p, t), squares);
}

//! One block a tree: the root with its sums.
template <class Code>
__global__ void __launch_bounds__(kRootThreads) MakeSumsRoots(const Problem<Code> p) {
  __shared__ unsigned long long shared[3];
  if (threadIdx.x < 3) shared[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t* ids = p.pool.ids[0] + std::size_t{blockIdx.x} * p.sizes.rows;
  NodeSums root{};
  if (p.targets.regression) {
    for (std::uint32_t s = threadIdx.x; s < p.sizes.rows; s += kRootThreads) {
      root.weight += p.targets.weight[ids[s]];
      root.sum += p.targets.sum[ids[s]];
      root.squares += p.targets.squares[ids[s]];
    }
    AddShared(shared + 0, root.weight);
    AddShared(shared + 1, root.sum);
    AddShared(shared + 2, root.squares);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  root.weight = static_cast<std::int64_t>(shared[0]);
  root.sum = static_cast<std::int64_t>(shared[1]);
  root.squares = static_cast<std::int64_t>(shared[2]);
  std::uint32_t from = 0;
  for (std::uint32_t c = 0; !p.targets.regression && c < p.sizes.classes; ++c) {
    const std::uint32_t end = LowerBound(ids, p.sizes.rows, p.data.class_start[c + 1]);
    AddClass(p.targets.class_weight != nullptr ? p.targets.class_weight[c] : end - from, root);
    from = end;
  }
  MakeSumsNode(p, RootTask(p, blockIdx.x), root);
}

template <class Code>
void StartTrees(const Problem<Code>& p, bool bootstrap, const std::int64_t* up_to) {
  const dim3 grid((p.sizes.rows + 255) / 256, std::min(p.sizes.trees, 65535u));
  if (bootstrap) {
    const std::size_t bytes = std::size_t{p.sizes.trees} * p.sizes.rows * sizeof(std::uint32_t);
    RETABLE_CUDA_CHECK(cudaMemsetAsync(p.pool.ids[1], 0, bytes));
    CountBootstrap<<<grid, 256>>>(p.pool.ids[1], p.sizes.rows, p.sizes.trees, p.sizes.first_tree,
                                  p.rules.seed, up_to);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    ExpandBootstrap<<<p.sizes.trees, 1024>>>(p.pool.ids[1], p.pool.ids[0], p.sizes.rows);
  } else {
    FillIds<<<grid, 256>>>(p.pool.ids[0], p.sizes.rows, p.sizes.trees);
  }
  RETABLE_CUDA_CHECK(cudaGetLastError());
  if (p.targets.plain) {
    MakeRoots<Code><<<(p.sizes.trees + 127) / 128, 128>>>(p);
  } else {
    MakeSumsRoots<Code><<<p.sizes.trees, kRootThreads>>>(p);
  }
}

//! One warp a mixed leaf: fractions, or whole-number weights where trees are cut back afterwards.
template <class Code>
__global__ void CountMixedLeaves(const Problem<Code> p, const Task* leaves, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * 8 + (threadIdx.x >> 5);
  if (i >= count) return;
  const Task leaf = leaves[i];
  const std::uint32_t* ids =
      p.pool.ids[leaf.side] + std::size_t{leaf.tree} * p.sizes.rows + leaf.begin;
  unsigned long long* mine = p.pool.leaf_weights + std::size_t{i} * p.sizes.classes;
  const std::uint32_t lane = threadIdx.x & 31;
  for (std::uint32_t s = lane; s < leaf.count; s += 32) {
    atomicAdd(mine + p.data.class_of[ids[s]],
              p.targets.plain ? 1ull : static_cast<unsigned long long>(p.targets.weight[ids[s]]));
  }
  if (lane == 0) p.pool.hot[leaf.node].value = kMixed | i;
  __syncwarp();
  const double whole = p.pool.gains != nullptr ? 1.0
                       : p.targets.plain       ? static_cast<double>(leaf.count)
                                               : static_cast<double>(p.pool.sums[leaf.node].weight);
  for (std::uint32_t c = lane; c < p.sizes.classes; c += 32) {
    const double part = static_cast<double>(atomicAdd(mine + c, 0ull));
    p.pool.leaf_values[std::size_t{i} * p.sizes.classes + c] = DivRn(part, whole);
  }
}

template <class Code>
void CountMixed(const Problem<Code>& p, const Task* leaves, std::uint32_t count) {
  const std::size_t bytes = std::size_t{count} * p.sizes.classes * sizeof(*p.pool.leaf_weights);
  RETABLE_CUDA_CHECK(cudaMemsetAsync(p.pool.leaf_weights, 0, bytes));
  CountMixedLeaves<Code><<<(count + 7) / 8, 256>>>(p, leaves, count);
}

//! What a branch's cut gains; 0 for a leaf.
template <class Code>
__device__ double CutGain(const Problem<Code>& p, std::uint32_t node) {
  const HotNode hot = p.pool.hot[node];
  if (hot.feature < 0) return 0;
  const ColdNode* cold = p.pool.cold;
  if (p.targets.plain) {
    return ImpurityDecrease(cold[node].squares, cold[node].samples, cold[hot.left].squares,
                            cold[hot.left].samples, cold[hot.left + 1].squares,
                            p.rules.limits.total);
  }
  const NodeSums* sums = p.pool.sums;
  return p.targets.regression ? TargetDecrease(p.targets.scale, sums[node],
                                               TargetScore(sums[hot.left], sums[hot.left + 1]))
                              : ClassDecrease(p.targets.scale, sums[node],
                                              ClassScore(sums[hot.left], sums[hot.left + 1]));
}

//! What the exported forest says of each node.
template <class Code>
__global__ void StateFacts(const Problem<Code> p, std::uint32_t nodes, NodeFacts* facts) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nodes) return;
  const ColdNode cold = p.pool.cold[i];
  NodeFacts fact{cold.threshold, 0.0, static_cast<double>(cold.samples), cold.samples, 0};
  if (p.targets.plain) {
    fact.impurity = GiniImpurity(cold.squares, cold.samples);
  } else {
    const NodeSums sums = p.pool.sums[i];
    fact.weight = NodeWeight(p.targets.scale, sums);
    if (cold.pure == 0) {
      fact.impurity =
          p.targets.regression ? TargetVariance(p.targets.scale, sums) : ClassImpurity(sums);
    }
  }
  facts[i] = fact;
  if (p.pool.gains != nullptr && cold.samples > 0) p.pool.gains[i] = CutGain(p, i);
}

}  // namespace retable::extratrees::frontier
