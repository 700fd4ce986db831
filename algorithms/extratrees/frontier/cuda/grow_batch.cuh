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
    if (p_.targets.plain) {
      PrepareNodes();
    } else if (p_.targets.regression) {
      PrepareSums<true>();
    } else {
      PrepareSums<false>();
    }
    subtree_blocks_ = static_cast<std::uint32_t>(
        MultiprocessorCount() * BlocksOnMultiprocessor(GrowSubtrees<Code>, 32 * kSubtreeWarps, 0));
  }

  //! @param draw_up_to sums of weights, for a bootstrap by weight, or null
  GrowResult Run(bool bootstrap, const std::int64_t* draw_up_to, DeviceArray<NodeFacts>& to) {
    Start(bootstrap, draw_up_to);
    for (std::uint32_t level = 0; counts_[kLarge] + counts_[kBlock] + counts_[kWarp] > 0; ++level) {
      GrowLevel(level);
    }
    Subtrees();
    Mixed();
    NodeFacts* facts = to.Reserve(counts_[kQueues]);
    StateFacts<Code><<<(counts_[kQueues] + 255) / 256, 256>>>(p_, counts_[kQueues], facts);
    RETABLE_CUDA_CHECK(cudaGetLastError());
    RETABLE_CUDA_CHECK(cudaDeviceSynchronize());
    return {counts_[kQueues], counts_[kMixedLeaf]};
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

  void Start(bool bootstrap, const std::int64_t* draw_up_to) {
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
    LaunchNodes(buffers_.queue[now][1].data(), counts_[kBlock], block_, side_[0].get());
    LaunchNodes(buffers_.queue[now][2].data(), counts_[kWarp], warp_, side_[1].get());
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

  //! How the nodes of a queue are grown.
  struct Group {
    std::uint32_t warps;         //!< a node's
    bool counted = false;        //!< class counts are added up in shared memory
    std::uint32_t capacity = 0;  //!< rows on chip
    std::size_t bytes = 0;       //!< shared memory
  };

  //! As many rows on chip as fit; block nodes of more rows are grown in chunks.
  template <class Bytes>
  void ChooseCapacities(const Bytes& bytes) {
    block_.capacity = kBlockRows / sizeof(Code);
    while (block_.capacity > kFewestRows && bytes(block_) > SharedMemoryLimit()) {
      block_.capacity /= 2;
    }
    warp_.capacity = kWarpRows / sizeof(Code);
    block_.bytes = bytes(block_);
    warp_.bytes = bytes(warp_);
  }

  void PrepareNodes() {
    FrontierSteps& steps = p_.rules.steps;
    const bool shared_counts = p_.sizes.classes <= kSharedCountClasses &&
                               NodeMemoryBytes(kFewestRows, kBlockWarps, p_.sizes.classes,
                                               sizeof(Code), true, true) <= SharedMemoryLimit();
    if (!shared_counts) steps.class_sorted = true;
    block_ = {shared_counts ? kBlockWarps : 1, shared_counts};
    warp_ = {1, shared_counts && !steps.class_sorted};
    ChooseCapacities([&](const Group& g) {
      return NodeMemoryBytes(g.capacity, g.warps, p_.sizes.classes, sizeof(Code), steps.keep_codes,
                             g.counted);
    });
    AllowSharedMemory(GrowNodes<Code, kBlockWarps>, block_.bytes);
    AllowSharedMemory(GrowNodes<Code, 1>, std::max(block_.bytes, warp_.bytes));
  }

  template <bool kRegression>
  void PrepareSums() {
    block_ = {kRegression || p_.sizes.classes <= kSharedSumsClasses ? kBlockWarps : 1};
    warp_ = {1};
    ChooseCapacities([&](const Group& g) {
      return SumsMemoryBytes(g.capacity, g.warps, p_.sizes.classes, sizeof(Code), kRegression);
    });
    AllowSharedMemory(GrowSums<Code, kBlockWarps, kRegression>, block_.bytes);
    AllowSharedMemory(GrowSums<Code, 1, kRegression>, std::max(block_.bytes, warp_.bytes));
  }

  void LaunchNodes(const Task* tasks, std::uint32_t count, const Group& g, cudaStream_t stream) {
    if (count == 0) return;
    if (g.warps == 1) return LaunchNodes<1>(tasks, count, g, stream);
    LaunchNodes<kBlockWarps>(tasks, count, g, stream);
  }
  template <int kWarps>
  void LaunchNodes(const Task* tasks, std::uint32_t count, const Group& g, cudaStream_t stream) {
    const std::uint32_t fields = SumsFields(p_.sizes.classes, p_.targets.regression, kWarps);
    if (p_.targets.plain) {
      GrowNodes<Code, kWarps><<<count, 32 * kWarps, g.bytes, stream>>>(
          p_, tasks, g.capacity, p_.rules.steps.keep_codes, g.counted);
    } else if (p_.targets.regression) {
      GrowSums<Code, kWarps, true>
          <<<count, 32 * kWarps, g.bytes, stream>>>(p_, tasks, g.capacity, fields);
    } else {
      GrowSums<Code, kWarps, false>
          <<<count, 32 * kWarps, g.bytes, stream>>>(p_, tasks, g.capacity, fields);
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
  Group block_{}, warp_{};
  std::uint32_t subtree_blocks_ = 0;
  std::uint32_t grown_subtrees_ = 0;
  CudaStream side_[3];
  CudaEvent joined_[3] = {CudaEvent(cudaEventDisableTiming), CudaEvent(cudaEventDisableTiming),
                          CudaEvent(cudaEventDisableTiming)};
  CudaEvent forked_{cudaEventDisableTiming};
};

template <class Code>
GrowResult GrowBatch(const Problem<Code>& problem, Buffers& buffers, bool bootstrap,
                     const std::int64_t* draw_up_to, DeviceArray<NodeFacts>& facts) {
  return BatchGrower<Code>(problem, buffers).Run(bootstrap, draw_up_to, facts);
}

}  // namespace retable::extratrees::frontier
