#pragma once
//! @file
//! The subtree kernel: shared subtrees (quadrature/sharing/subtrees.hpp) are evaluated
//! once for each class.
//!
//! Lanes are classes, and a subtree's features are columns of the warp's shared memory.

#include "algorithms/treeshap/quadrature/cuda/kernel.cuh"
#include "algorithms/treeshap/quadrature/sharing/work_queue.cuh"

namespace retable::treeshap {

//! A lane's memory: x and a sum of each feature.
template <int Q, int R>
struct SubtreeMemory : DeviceMemory<Q, R, AccumulatorLayout::kPerFeature, false, true> {
  static constexpr bool kCategories = false;

  __device__ __forceinline__ SubtreeMemory(float4* stack_of_warp, char* columns_of_warp,
                                           std::uint32_t lane) {
    this->stack = stack_of_warp + lane;
    this->columns = columns_of_warp + lane * R * sizeof(float);
    this->phi_bytes = 32 * R * sizeof(float);
    this->step = SubtreeColumnBytes(Q);
    this->threads = 32;
  }

  __device__ __forceinline__ void Begin(std::uint32_t feature, const float (&x)[R]) {
    const float zero[R] = {};
    char* column = this->Column(feature);
    *reinterpret_cast<RowVector<R>*>(column + this->phi_bytes) = Packed<R>(x);
    *reinterpret_cast<RowVector<R>*>(column) = Packed<R>(zero);
  }

  __device__ __forceinline__ float Phi(std::uint32_t feature, int r) const {
    return reinterpret_cast<const float*>(this->Column(feature))[r];
  }
};

//! x of a subtree's features for the lane's rows. Lane i holds the i-th feature: a key has no more
//! of them than bits.
template <int R, class Memory>
__device__ __forceinline__ void LoadColumns(const SubtreeLaunch& p, std::uint32_t features,
                                            std::uint32_t feature, const std::uint32_t (&row)[R],
                                            Memory& memory) {
  constexpr std::uint32_t kAhead = 4;
  for (std::uint32_t f = 0; f < features; f += kAhead) {
    float values[kAhead][R];
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      const std::uint32_t column = __shfl_sync(0xffffffffu, feature, min(f + i, features - 1));
      const float* x = p.x + static_cast<std::size_t>(column) * p.stride;
#pragma unroll
      for (int r = 0; r < R; ++r) values[i][r] = __ldg(x + row[r]);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (f + i >= features) break;
      memory.Begin(f + i, values[i]);
    }
  }
}

//! K of a subtree for the lane's row classes, from `first` on, into the table.
template <int Q, int R>
__device__ __forceinline__ void WriteK(const tape::LaneState<Q, R>& state, std::uint32_t count,
                                       std::uint32_t first, std::uint32_t width, std::uint32_t k_at,
                                       float4* to) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (first + r >= count) continue;
#pragma unroll
    for (int v = 0; v < (Q + 3) / 4; ++v) {
      const auto k = [&](int q) { return q < Q ? state.k[q * R + r] : 0.0f; };
      to[r * width + k_at + v] = make_float4(k(4 * v), k(4 * v + 1), k(4 * v + 2), k(4 * v + 3));
    }
  }
}

//! The sums of the subtree's own features, the same way.
template <int R, class Memory>
__device__ __forceinline__ void WriteSums(const Memory& memory, std::uint32_t own,
                                          std::uint32_t count, std::uint32_t first,
                                          std::uint32_t width, float4* to) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (first + r >= count) continue;
    const auto phi = [&](std::uint32_t f) { return f < own ? memory.Phi(f, r) : 0.0f; };
    for (std::uint32_t f = 0; f < own; f += 4) {
      to[r * width + f / 4] = make_float4(phi(f), phi(f + 1), phi(f + 2), phi(f + 3));
    }
  }
}

//! Teams of warps take items in turn. A team shares the subtree's tapes, of which the next is on
//! its way while one is worked through. Its warps run on one scheduler of the multiprocessor and go
//! through the same operations at the same time: what they wait for most is code.
template <int Q, int R, bool General>
__global__ void __launch_bounds__(32 * kTeams * kMaxTeamWarps, 1) SubtreeKernel(SubtreeLaunch p) {
  extern __shared__ float4 subtree_shared[];
  using Memory = SubtreeMemory<Q, R>;
  using Queue = ItemQueue<SharedSubtree>;
  __shared__ std::uint32_t announced[2][kTeams][Queue::kWords];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t teams = p.teams;
  const std::uint32_t team = warp % teams;
  const std::uint32_t member = warp / teams;
  const std::uint32_t team_threads = blockDim.x / teams;
  const auto meet = [&] {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(team_threads) : "memory");
  };
  const std::uint32_t stack_words = p.sizes.stack_slots * Memory::kVectors * 32;
  const std::uint32_t warp_words =
      stack_words + p.sizes.features * (SubtreeColumnBytes(Q) / sizeof(float4));
  auto* words = reinterpret_cast<Float4*>(subtree_shared) + team * 2 * p.sizes.words;
  float4* mine = subtree_shared + teams * 2 * p.sizes.words + warp * warp_words;
  Memory memory(mine, reinterpret_cast<char*>(mine + stack_words), lane);
  Queue queue(p.items, p.tapes.subtrees, p.counters);
  if (member == 0) queue.Start();
  for (std::uint32_t turn = 0;; turn ^= 1) {
    std::uint32_t* now = announced[turn][team];
    const SubtreeItem& item = Queue::Item(now);
    const SharedSubtree& subtree = Queue::Of(now);
    if (member == 0) queue.Publish(now);
    meet();  // the item is visible to the team; the last tape's buffer is free
    if (!Queue::Any(now)) return;
    // A whole tape at once: read word by word it would wait for the second-level cache each time.
    const Float4* from = p.tapes.words + subtree.first_word;
    std::uint32_t length = subtree.words;
    CopyAsync(words, from, length, member * 32 + lane, team_threads);
    if (member == 0) queue.ReadItem();
    const std::uint32_t first = member * 32 * R + lane * R;
    const bool active = member * 32 * R < item.count;
    if (active) {
      const std::uint32_t feature =
          p.tapes.feature_lists[subtree.first_feature + min(lane, subtree.features - 1)];
      std::uint32_t row[R];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        row[r] = p.representatives[item.row + min(first + r, item.count - 1)];
      }
      LoadColumns<R>(p, subtree.features, feature, row, memory);
    }
    if (member == 0) queue.ReadRecord();
    const std::uint32_t width = subtree.width;
    float4* to = p.table + item.table + first * width;
    for (std::uint32_t buffer = 0; length > 0; buffer ^= 1) {
      WaitForCopies();
      meet();  // this tape is visible to all; the other buffer is free
      const Float4* at = words + buffer * p.sizes.words;
      const Float4 head = *at;
      from += length;
      length = tape::Bits(head.x);
      if (length > 0) {
        CopyAsync(words + (buffer ^ 1) * p.sizes.words, from, length, member * 32 + lane,
                  team_threads);
      }
      if (!active) continue;
      tape::LaneState<Q, R> state;
      at = tape::StartSubtree<General, Q, R>(at + 1, tape::Bits(head.y), state, memory);
      tape::RunChunk<General, Q, R>(at, state, memory);
      const std::uint32_t k_at = tape::Bits(head.z);
      if (k_at != tape::kNoK) WriteK(state, item.count, first, width, k_at, to);
    }
    if (active) WriteSums<R>(memory, subtree.own, item.count, first, width, to);
  }
}

template <int Q, bool General>
void LaunchSubtreesVariant(const SubtreeLaunch& launch, cudaStream_t stream) {
  const auto kernel = SubtreeKernel<Q, ClassesPerLane(Q), General>;
  const std::size_t bytes = SubtreeSharedBytes(Q, launch);
  AllowSharedMemory(kernel, bytes);
  const std::uint32_t warps = launch.teams * launch.team_warps;
  const auto multiprocessors = static_cast<std::uint32_t>(MultiprocessorCount());
  kernel<<<multiprocessors * kTeams * kMaxTeamWarps / warps, 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "subtree kernel");
}

template <int Q>
void LaunchSubtreesPoints(const SubtreeLaunch& launch, cudaStream_t stream) {
  ForEither(launch.missing,
            [&]<bool General>() { LaunchSubtreesVariant<Q, General>(launch, stream); });
}

}  // namespace retable::treeshap
