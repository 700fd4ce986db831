#pragma once
//! @file
//! The host's loop over the levels of a batch of trees. Include in one .cu a code width.

#include <algorithm>

#include "algorithms/extratrees/frontier/cuda/grow_nodes.cuh"
#include "algorithms/extratrees/frontier/cuda/large_nodes.cuh"
#include "algorithms/extratrees/frontier/cuda/setup.cuh"
#include "algorithms/extratrees/frontier/cuda/subtree.cuh"
#include "algorithms/extratrees/frontier/cuda/sums_kernels.cuh"

namespace retable::extratrees::frontier {

//! A line's value as a code.
template <class Code>
__device__ Code CodeOfLine(Code line) {
  if constexpr (sizeof(Code) == sizeof(float)) {
    const float x = __uint_as_float(line);
    return x != x ? kAll : OrderedBits(x);
  }
  return line;
}

template <class Code>
__global__ void CodeTiles(Code* lines, Code* columns, std::uint32_t features, std::uint32_t rows) {
  __shared__ Code tile[32][33];
  const std::uint32_t f0 = blockIdx.y * 32;
  const std::uint32_t i0 = blockIdx.x * 32;
  for (std::uint32_t j = threadIdx.y; j < 32; j += 8) {
    if (f0 + threadIdx.x < features && i0 + j < rows) {
      Code& at = lines[std::size_t{i0 + j} * features + f0 + threadIdx.x];
      tile[j][threadIdx.x] = at = CodeOfLine(at);
    }
  }
  __syncthreads();
  for (std::uint32_t j = threadIdx.y; j < 32; j += 8) {
    if (f0 + j < features && i0 + threadIdx.x < rows) {
      columns[std::size_t{f0 + j} * rows + i0 + threadIdx.x] = tile[threadIdx.x][j];
    }
  }
}

template <class Code>
void PrepareCodes(Code* lines, Code* columns, std::uint32_t features, std::uint32_t rows) {
  const dim3 grid((rows + 31) / 32, (features + 31) / 32);
  CodeTiles<Code><<<grid, dim3(32, 8)>>>(lines, columns, features, rows);
  RETABLE_CUDA_CHECK(cudaGetLastError());
}

template <class Code>
class BatchGrower {
 public:
  BatchGrower(const Problem<Code>& problem, Buffers& buffers) : p_(problem), buffers_(buffers) {
    const std::size_t limit = SharedMemoryLimit();
    const bool shared_counts = p_.sizes.classes <= kSharedCountClasses &&
                               NodeMemoryBytes(kFewestRows, kBlockWarps, p_.sizes.classes,
                                               sizeof(Code), true, true) <= limit;
    if (!shared_counts) p_.rules.steps.class_sorted = true;
    block_warps_ = shared_counts ? kBlockWarps : 1;
    block_counted_ = shared_counts;
    warp_counted_ = shared_counts && !p_.rules.steps.class_sorted;
    const bool keep = p_.rules.steps.keep_codes;
    const auto block_bytes = [&](std::uint32_t capacity) {
      return NodeMemoryBytes(capacity, block_warps_, p_.sizes.classes, sizeof(Code), keep,
                             block_counted_);
    };
    ChooseBlockCapacity(block_bytes, limit);
    warp_bytes_ = NodeMemoryBytes(kWarpRows / sizeof(Code), 1, p_.sizes.classes, sizeof(Code), keep,
                                  warp_counted_);
    AllowSharedMemory(GrowNodes<Code, kBlockWarps>, block_bytes_);
    AllowSharedMemory(GrowNodes<Code, 1>, std::max(block_bytes_, warp_bytes_));
    if (!p_.targets.plain) PrepareSums();
    subtree_blocks_ = static_cast<std::uint32_t>(
        MultiprocessorCount() * BlocksOnMultiprocessor(GrowSubtrees<Code>, 32 * kSubtreeWarps, 0));
  }

  GrowResult Run(DeviceArray<NodeFacts>& to) {
    Start();
    std::uint32_t level = 0;
    for (; counts_[kLarge] + counts_[kBlock] + counts_[kWarp] > 0; ++level) GrowLevel(level);
    Subtrees();
    Mixed();
    NodeFacts* facts = to.Reserve(counts_[kQueues]);
    StateFacts<Code><<<(counts_[kQueues] + 255) / 256, 256>>>(p_, counts_[kQueues], facts);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    RETABLE_CUDA_CHECK(cudaDeviceSynchronize());
    return {counts_[kQueues], counts_[kMixedLeaf], level};
  }

 private:
  void ReadCounters() {
    RETABLE_CUDA_CHECK(
        cudaMemcpy(counts_, p_.pool.counters, sizeof(counts_), cudaMemcpyDeviceToHost));
  }

  void PointTo(std::uint32_t parity) {
    p_.pool.next[kLarge] = buffers_.queue[parity][0].data();
    p_.pool.next[kBlock] = buffers_.queue[parity][1].data();
    p_.pool.next[kWarp] = buffers_.queue[parity][2].data();
    p_.pool.next[kSubtree] = buffers_.subtrees.data();
    p_.pool.next[kMixedLeaf] = buffers_.mixed.data();
  }

  void Start() {
    std::uint32_t zero[kCounters] = {};
    zero[kQueues] = p_.sizes.trees;
    RETABLE_CUDA_CHECK(cudaMemcpy(p_.pool.counters, zero, sizeof(zero), cudaMemcpyHostToDevice));
    PointTo(0);
    StartTrees(p_, bootstrap, draw_up_to);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    ReadCounters();
  }

  //! The queues of a level do not touch each other's nodes: they run side by side, each in its
  //! stream.
  void GrowLevel(std::uint32_t level) {
    const std::uint32_t now = level & 1;
    PointTo(now ^ 1);
    RETABLE_CUDA_CHECK(cudaMemsetAsync(p_.pool.counters, 0, 3 * sizeof(std::uint32_t)));
    forked_.Record();
    for (const CudaStream& stream : side_) {
      RETABLE_CUDA_CHECK(cudaStreamWaitEvent(stream.get(), forked_.get()));
    }
    LaunchLarge(buffers_.queue[now][0].data());
    LaunchBlocks(buffers_.queue[now][1].data(), side_[0].get());
    LaunchWarps(buffers_.queue[now][2].data(), side_[1].get());
    // A level's subtrees can be grown while the next levels are: enough of them fill the device.
    if (counts_[kSubtree] - grown_subtrees_ >= kSubtreesAtOnce) LaunchSubtrees(side_[2].get());
    for (std::size_t i = 0; i < 2; ++i) {  // subtrees are joined once, after the last level
      joined_[i].Record(side_[i].get());
      RETABLE_CUDA_CHECK(cudaStreamWaitEvent(nullptr, joined_[i].get()));
    }
    ReadCounters();
  }

  void LaunchLarge(const Task* tasks) {
    if (counts_[kLarge] == 0) return;
    if (p_.targets.plain) return LaunchLarge<TargetKind::kPlain>(tasks);
    if (p_.targets.regression) return LaunchLarge<TargetKind::kRegression>(tasks);
    LaunchLarge<TargetKind::kClasses>(tasks);
  }
  template <TargetKind kKind>
  void LaunchLarge(const Task* tasks) {
    const std::uint32_t groups = (p_.sizes.k + kLargeGroup - 1) / kLargeGroup;
    const std::size_t bytes = LargeMemoryBytes(p_.sizes.classes, p_.targets.regression);
    ScoreLarge<Code, kKind><<<counts_[kLarge] * groups, 32 * kLargeWarps, bytes>>>(p_, tasks);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    SplitLarge<Code, kKind><<<counts_[kLarge], 32 * kSplitWarps>>>(p_, tasks);
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }

  //! As many rows on chip as fit; nodes of more rows are grown in chunks.
  template <class Bytes>
  void ChooseBlockCapacity(const Bytes& bytes, std::size_t limit) {
    block_capacity_ = kBlockRows / sizeof(Code);
    while (block_capacity_ > kFewestRows && bytes(block_capacity_) > limit) block_capacity_ /= 2;
    block_bytes_ = bytes(block_capacity_);
  }

  //! The kernels of nodes that keep sums, and their shared memory.
  template <bool kRegression>
  void PrepareSumsKernels() {
    AllowSharedMemory(GrowSums<Code, kBlockWarps, kRegression>, block_bytes_);
    AllowSharedMemory(GrowSums<Code, 1, kRegression>, std::max(block_bytes_, warp_bytes_));
  }
  void PrepareSums() {
    block_warps_ =
        p_.targets.regression || p_.sizes.classes <= kSharedSumsClasses ? kBlockWarps : 1;
    const auto block_bytes = [this](std::uint32_t capacity) {
      return SumsMemoryBytes(capacity, block_warps_, p_.sizes.classes, sizeof(Code),
                             p_.targets.regression);
    };
    ChooseBlockCapacity(block_bytes, SharedMemoryLimit());
    warp_bytes_ = SumsMemoryBytes(kWarpRows / sizeof(Code), 1, p_.sizes.classes, sizeof(Code),
                                  p_.targets.regression);
    if (p_.targets.regression) {
      PrepareSumsKernels<true>();
    } else {
      PrepareSumsKernels<false>();
    }
  }

  template <int kWarps>
  void LaunchSums(const Task* tasks, std::uint32_t count, std::uint32_t capacity, std::size_t bytes,
                  cudaStream_t stream) {
    const std::uint32_t fields = SumsFields(p_.sizes.classes, p_.targets.regression, kWarps);
    if (p_.targets.regression) {
      GrowSums<Code, kWarps, true>
          <<<count, 32 * kWarps, bytes, stream>>>(p_, tasks, capacity, fields);
    } else {
      GrowSums<Code, kWarps, false>
          <<<count, 32 * kWarps, bytes, stream>>>(p_, tasks, capacity, fields);
    }
  }

  void LaunchBlocks(const Task* tasks, cudaStream_t stream) {
    const std::uint32_t count = counts_[kBlock];
    if (count == 0) return;
    const std::uint32_t capacity = block_capacity_;
    if (!p_.targets.plain && block_warps_ == kBlockWarps) {
      LaunchSums<kBlockWarps>(tasks, count, capacity, block_bytes_, stream);
    } else if (!p_.targets.plain) {
      LaunchSums<1>(tasks, count, capacity, block_bytes_, stream);
    } else if (block_warps_ == kBlockWarps) {
      GrowNodes<Code, kBlockWarps><<<count, 32 * kBlockWarps, block_bytes_, stream>>>(
          p_, tasks, capacity, p_.rules.steps.keep_codes, block_counted_);
    } else {
      GrowNodes<Code, 1><<<count, 32, block_bytes_, stream>>>(p_, tasks, capacity,
                                                              p_.rules.steps.keep_codes, false);
    }
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }

  void LaunchWarps(const Task* tasks, cudaStream_t stream) {
    const std::uint32_t count = counts_[kWarp];
    if (count == 0) return;
    const std::uint32_t capacity = kWarpRows / sizeof(Code);
    if (!p_.targets.plain) {
      LaunchSums<1>(tasks, count, capacity, warp_bytes_, stream);
    } else {
      GrowNodes<Code, 1><<<count, 32, warp_bytes_, stream>>>(
          p_, tasks, capacity, p_.rules.steps.keep_codes, warp_counted_);
    }
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }

  //! Grows the subtrees that are queued and not yet grown.
  void LaunchSubtrees(cudaStream_t stream) {
    const std::uint32_t count = counts_[kSubtree] - grown_subtrees_;
    if (count == 0) return;
    const Task* tasks = buffers_.subtrees.data() + grown_subtrees_;
    const std::uint32_t blocks =
        std::min(subtree_blocks_, (count + kSubtreeWarps - 1) / kSubtreeWarps);
    GrowSubtrees<Code><<<blocks, 32 * kSubtreeWarps, 0, stream>>>(p_, tasks, count);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    grown_subtrees_ = counts_[kSubtree];
  }

  void Subtrees() {
    joined_[2].Record(side_[2].get());
    RETABLE_CUDA_CHECK(cudaStreamWaitEvent(nullptr, joined_[2].get()));
    LaunchSubtrees(nullptr);
    ReadCounters();
  }

  void Mixed() {
    const std::uint32_t count = counts_[kMixedLeaf];
    if (count == 0) return;
    p_.pool.leaf_weights = buffers_.leaf_weights.Reserve(std::size_t{count} * p_.sizes.classes);
    p_.pool.leaf_values = buffers_.leaf_values.Reserve(std::size_t{count} * p_.sizes.classes);
    CountMixed(p_, buffers_.mixed.data(), count);
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }

  Problem<Code> p_;
  Buffers& buffers_;
  std::uint32_t counts_[kCounters] = {};
  std::uint32_t block_warps_ = 0;
  std::uint32_t subtree_blocks_ = 0;
  std::uint32_t grown_subtrees_ = 0;
  CudaStream side_[3];
  CudaEvent joined_[3] = {CudaEvent(cudaEventDisableTiming), CudaEvent(cudaEventDisableTiming),
                          CudaEvent(cudaEventDisableTiming)};
  CudaEvent forked_{cudaEventDisableTiming};
  bool block_counted_ = false;
  bool warp_counted_ = false;
  std::uint32_t block_capacity_ = 0;
  std::size_t block_bytes_ = 0;
  std::size_t warp_bytes_ = 0;

 public:
  bool bootstrap = false;
  const std::int64_t* draw_up_to = nullptr;  //!< bootstrap by weight
};

template <class Code>
GrowResult GrowBatch(const Problem<Code>& problem, Buffers& buffers, bool bootstrap,
                     const std::int64_t* draw_up_to, DeviceArray<NodeFacts>& facts) {
  BatchGrower<Code> grower(problem, buffers);
  grower.bootstrap = bootstrap;
  grower.draw_up_to = draw_up_to;
  return grower.Run(facts);
}

}  // namespace retable::extratrees::frontier
