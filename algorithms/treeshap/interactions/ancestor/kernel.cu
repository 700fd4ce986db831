#include "algorithms/treeshap/interactions/ancestor/kernel.cuh"

#include <algorithm>

#include "algorithms/treeshap/interactions/ancestor/interpreter.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/cuda/async_copy.cuh"
#include "algorithms/treeshap/quadrature/cuda/choices.hpp"
#include "algorithms/treeshap/quadrature/cuda/lane_stack.cuh"
#include "algorithms/treeshap/quadrature/sharing/work_queue.cuh"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kLocalSlots = ancestor::kMostStackSlots;  // in local memory

// Groups of four words that a warp has in shared memory beside the tape: the stack, x of the tile's
// features, then the sums and one more that nothing reads.
__host__ __device__ constexpr std::uint32_t StackGroups(int points, const InteractionSizes& sizes) {
  return sizes.shared_slots * 2 * static_cast<std::uint32_t>((points + 3) / 4) * 32;
}
__host__ __device__ constexpr std::uint32_t WarpGroups(int points, const InteractionSizes& sizes) {
  return StackGroups(points, sizes) + (sizes.features + sizes.interactions + 1) * 8;
}

// A slot of the tape's is two of the stack: G, then K.
template <int Q>
struct LaneMemory : LaneStack<Q> {
  float* columns;  // shared, the lane's x of each listed feature
  float* sums;     // shared, the lane's

  __device__ __forceinline__ void PushG(int slot, const float (&g)[Q]) { this->Push(2 * slot, g); }
  __device__ __forceinline__ void PeekG(int slot, float (&g)[Q]) const { this->Peek(2 * slot, g); }
  __device__ __forceinline__ void PushK(int slot, const float (&k)[Q]) {
    this->Push(2 * slot + 1, k);
  }
  __device__ __forceinline__ void PeekK(int slot, float (&k)[Q]) const {
    this->Peek(2 * slot + 1, k);
  }
  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return columns[(bits & tape::kFeatureMask) * 32];
  }
  // 32 lanes of four bytes: the word holds the slot times 128 bytes.
  __device__ __forceinline__ float& Sum(std::uint32_t word) const {
    return *reinterpret_cast<float*>(reinterpret_cast<char*>(sums) + (word & ancestor::kSumMask));
  }
};

// Memory of a lane that evaluates a tile for one row.
template <int Q>
struct RowMemory : LaneMemory<Q> {
  const InteractionLaunch& p;
  std::uint32_t row;

  __device__ __forceinline__ RowMemory(const InteractionLaunch& launch) : p(launch) {}

  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    const std::uint32_t* sets = p.tape.sets;
    return treeshap::InSet([sets](std::uint32_t i) { return __ldg(sets + i); }, offset, value);
  }

  __device__ __forceinline__ void Below(std::uint32_t tile, float (&k)[Q]) const {
    const float* from = p.output.below + static_cast<std::size_t>(tile) * Q * p.rows.stride + row;
#pragma unroll
    for (int q = 0; q < Q; ++q) k[q] = __ldcg(from + static_cast<std::size_t>(q) * p.rows.stride);
  }

  __device__ __forceinline__ void Shared(const Float4* at, const Float4& head, float (&k)[Q]) {
    constexpr int kV = ancestor::kGroups<Q>;
    constexpr std::uint32_t kAhead = 4;
    const std::uint32_t subtree = tape::Bits(head.y);
    const std::uint32_t groups = (tape::Bits(head.z) + 3) / 4;
    const std::uint32_t number =
        __ldg(p.shared.classes + static_cast<std::size_t>(subtree) * p.rows.stride + row);
    const float4* from =
        p.shared.table + __ldg(p.shared.bases + subtree) + number * tape::Bits(head.w);
    LaneStack<Q>::Load(from, 1, k);
    from += kV;
    const std::uint32_t pad = p.tape.sizes.interactions << ancestor::kSumShift;
    for (std::uint32_t i = 0; i < groups; i += kAhead) {
      float4 values[kAhead];
#pragma unroll
      for (std::uint32_t j = 0; j < kAhead; ++j) {
        values[j] = __ldg(from + min(i + j, groups - 1));
      }
#pragma unroll
      for (std::uint32_t j = 0; j < kAhead; ++j) {
        if (i + j < groups) {
          const std::uint32_t count = tape::Bits(head.z) - 4 * (i + j);
          const Float4 four = at[i + j];
          float* to[4] = {&this->Sum(tape::Bits(four.x)),
                          &this->Sum(count > 1 ? tape::Bits(four.y) : pad),
                          &this->Sum(count > 2 ? tape::Bits(four.z) : pad),
                          &this->Sum(count > 3 ? tape::Bits(four.w) : pad)};
          const float old[4] = {*to[0], *to[1], *to[2], *to[3]};
          *to[0] = old[0] + values[j].x;
          *to[1] = old[1] + values[j].y;
          *to[2] = old[2] + values[j].z;
          *to[3] = old[3] + values[j].w;
        }
      }
    }
  }
};

// Memory of a lane that evaluates a shared subtree for one row class.
template <int Q>
struct ClassMemory : LaneMemory<Q> {
  __device__ __forceinline__ bool InSet(std::uint32_t, float) const { return false; }
  __device__ __forceinline__ void Below(std::uint32_t, float (&)[Q]) const {}
  __device__ __forceinline__ void Shared(const Float4*, const Float4&, float (&)[Q]) const {}
};

// Gives a warp its part of the block's memory.
template <int Q, class Memory>
__device__ __forceinline__ void AssignMemory(float4* own, const InteractionSizes& sizes,
                                             float4* local, Memory& memory) {
  memory.local = local;
  memory.shared_slots = static_cast<int>(2 * sizes.shared_slots);
  memory.stack = own + threadIdx.x % 32;
  memory.threads = 32;
  memory.columns = reinterpret_cast<float*>(own + StackGroups(Q, sizes)) + threadIdx.x % 32;
  memory.sums = memory.columns + sizes.features * 32;
}

// Copies the row's values in the order of the tile's features, and clears the sums.
template <class Memory>
__device__ __forceinline__ void Fill(const InteractionTile& tile, const Float4* words,
                                     const float* x, std::uint32_t stride, Memory& memory) {
#pragma unroll 8
  for (std::uint32_t i = 0; i < tile.features; ++i) {
    memory.columns[i * 32] = __ldg(x + static_cast<std::size_t>(Listed(words, i)) * stride);
  }
#pragma unroll 8
  for (std::uint32_t i = 0; i < tile.interactions; ++i) memory.sums[i * 32] = 0;
}

// A block takes tiles in the order of the tickets; each of its threads evaluates one row.
template <int Q, class Mask, bool General>
__global__ void __launch_bounds__(32 * tuning::kMostWarps) InteractionKernel(InteractionLaunch p) {
  extern __shared__ float4 block_memory[];
  __shared__ std::uint32_t ticket;
  auto* words = reinterpret_cast<Float4*>(block_memory);
  RowMemory<Q> memory(p);
  float4 local[kLocalSlots * 2 * ancestor::kGroups<Q>];
  AssignMemory<Q>(
      block_memory + p.tape.sizes.words + threadIdx.x / 32 * WarpGroups(Q, p.tape.sizes),
      p.tape.sizes, local, memory);
  const std::uint32_t row_blocks = (p.rows.stride + blockDim.x - 1) / blockDim.x;
  if (threadIdx.x == 0) ticket = atomicAdd(p.output.progress, 1u);
  __syncthreads();
  for (;;) {
    const std::uint32_t number = ticket / row_blocks;
    if (number >= p.tape.tile_count) return;
    const std::uint32_t row_block = ticket % row_blocks;
    const InteractionTile tile = p.tape.tiles[number];
    for (std::uint32_t i = threadIdx.x; i < tile.words; i += blockDim.x) {
      words[i] = p.tape.words[tile.first_word + i];
    }
    std::uint32_t* ended = p.output.progress + 1 + row_block;
    if (threadIdx.x == 0 && tile.below > 0) {
      while (Acquired(ended + number * row_blocks) < tile.below) __nanosleep(32);
    }
    __syncthreads();
    // Drawn ahead: the atomic's latency overlaps the tile's evaluation.
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(p.output.progress, 1u);
    const std::uint32_t row = row_block * blockDim.x + threadIdx.x;
    const bool alive = row < p.rows.stride;
    memory.row = alive ? row : p.rows.stride - 1;
    Fill(tile, words, p.rows.x + memory.row, p.rows.stride, memory);
    ancestor::Lane<Q, Mask> lane;
    ancestor::Evaluate<General>(words, tile, lane, memory);
    if (tile.above != InteractionTile::kNoTile) {
      float* to =
          p.output.below + static_cast<std::size_t>(number) * Q * p.rows.stride + memory.row;
#pragma unroll
      for (int q = 0; q < Q; ++q) to[static_cast<std::size_t>(q) * p.rows.stride] = lane.k[q];
      __syncthreads();
      if (threadIdx.x == 0) ReleaseOne(ended + tile.above * row_blocks);
    }
    if (alive) {
      unsigned long long* sums = p.output.sums + row;
      const Float4* list = words + (tile.features + 3) / 4;
#pragma unroll 4
      for (std::uint32_t i = 0; i < tile.interactions; ++i) {
        const float value = memory.sums[i * 32];
        if (value == 0) continue;
        const long long fixed = __float2ll_rn(value * p.rows.scale);
        atomicAdd(sums + static_cast<std::size_t>(Listed(list, i)) * p.rows.stride,
                  static_cast<unsigned long long>(fixed));
      }
    }
    if (threadIdx.x == 0) ticket = next;
    __syncthreads();
  }
}

// Each warp takes items from the queue.
template <int Q, class Mask, bool General>
__global__ void __launch_bounds__(32 * tuning::kMostWarps)
    InteractionSubtreeKernel(InteractionSubtreeLaunch p) {
  extern __shared__ float4 block_memory[];
  constexpr int kV = ancestor::kGroups<Q>;
  const std::uint32_t lane_index = threadIdx.x % 32;
  const std::uint32_t warp_groups = WarpGroups(Q, p.sizes);
  float4* mine = block_memory + threadIdx.x / 32 * (warp_groups + p.sizes.words);
  auto* words = reinterpret_cast<Float4*>(mine + warp_groups);
  ClassMemory<Q> memory;
  float4 local[kLocalSlots * 2 * kV];
  AssignMemory<Q>(mine, p.sizes, local, memory);
  ItemQueue<InteractionTile> queue(p.items, p.tiles, p.counters);
  SubtreeItem item;
  InteractionTile tile;
  queue.Start();
  while (queue.Take(item, tile)) {
    // Copies the whole tape: read word by word it would wait for the second-level cache each time.
    __syncwarp();
    CopyAsync(words, p.words + tile.first_word, tile.words, lane_index, 32);
    queue.ReadItem();
    const std::uint32_t row = p.representatives[item.row + min(lane_index, item.count - 1)];
    WaitForCopies();
    __syncwarp();
    Fill(tile, words, p.x + row, p.stride, memory);
    queue.ReadRecord();
    ancestor::Lane<Q, Mask> lane;
    ancestor::Evaluate<General>(words, tile, lane, memory);
    if (lane_index >= item.count) continue;
    float4* to = p.table + item.table + lane_index * (kV + (tile.interactions + 3) / 4);
    LaneStack<Q>::Store(to, 1, lane.k);
    const auto sum = [&](std::uint32_t i) {
      return i < tile.interactions ? memory.sums[i * 32] : 0.0f;
    };
    for (std::uint32_t i = 0; i < tile.interactions; i += 4) {
      to[kV + i / 4] = make_float4(sum(i), sum(i + 1), sum(i + 2), sum(i + 3));
    }
  }
}

std::uint32_t SubtreeWarps(int points, const InteractionSizes& sizes) {
  const std::size_t bytes = tuning::kSubtreeBlockWarps * InteractionSharedBytes(points, sizes, 1);
  return bytes > SharedMemoryLimit() / 3 ? 1 : tuning::kSubtreeBlockWarps;
}

template <int Q, class Mask, bool General>
void LaunchSubtreesOf(InteractionSubtreeLaunch launch, cudaStream_t stream) {
  launch.sizes.shared_slots = std::min(launch.sizes.slots, tuning::kSharedSlots);
  const std::uint32_t warps = SubtreeWarps(Q, launch.sizes);
  const std::size_t bytes = warps * InteractionSharedBytes(Q, launch.sizes, 1);
  AllowSharedMemory(InteractionSubtreeKernel<Q, Mask, General>, bytes);
  // Blocks without work return at once; no result depends on the grid.
  const std::uint32_t blocks =
      tuning::kSubtreeWarps * static_cast<std::uint32_t>(MultiprocessorCount()) / warps;
  InteractionSubtreeKernel<Q, Mask, General><<<blocks, 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction unit kernel");
}

// Chooses the number of stack slots in shared memory that leaves most resident warps: warps hide
// more latency than shared slots save.
BlockShape ShapeOf(int points, InteractionSizes sizes, std::uint32_t most) {
  BlockShape chosen;
  const std::size_t limit = SharedMemoryLimit();
  for (sizes.shared_slots = std::min(sizes.slots, tuning::kSharedSlots);; --sizes.shared_slots) {
    BlockShape shape = MostResident(most, limit, [&](std::uint32_t warps) {
      return InteractionSharedBytes(points, sizes, warps);
    });
    shape.shared_slots = sizes.shared_slots;
    if (shape.resident > chosen.resident) chosen = shape;
    if (sizes.shared_slots == 0) return chosen;
  }
}

template <int Q, class Mask, bool General>
void LaunchRowsOf(InteractionLaunch launch, cudaStream_t stream) {
  const BlockShape shape = ShapeOf(Q, launch.tape.sizes, launch.rows.stride / 32);
  const std::uint32_t warps = shape.warps;
  launch.tape.sizes.shared_slots = shape.shared_slots;
  const std::size_t bytes = InteractionSharedBytes(Q, launch.tape.sizes, warps);
  LaunchTiles(InteractionKernel<Q, Mask, General>, launch, warps, bytes, stream);
}

// The kernel for these points, positions and values.
template <class Function>
void ForPositions(int points, bool wide, bool general, Function function) {
  if (wide) {
    function.template operator()<8, std::uint64_t, true>();
  } else {
    ForPoints<4, 6, 8>(points, [&]<int Q>() {
      ForEither(general,
                [&]<bool General>() { function.template operator()<Q, std::uint32_t, General>(); });
    });
  }
}

}  // namespace

std::size_t InteractionSharedBytes(int points, const InteractionSizes& sizes, std::uint32_t warps) {
  return (sizes.words + warps * WarpGroups(points, sizes)) * sizeof(float4);
}

void LaunchInteractionSubtrees(int points, bool wide, const InteractionSubtreeLaunch& launch,
                               cudaStream_t stream) {
  ForPositions(points, wide, launch.general, [&]<int Q, class Mask, bool General>() {
    LaunchSubtreesOf<Q, Mask, General>(launch, stream);
  });
}

void LaunchInteractions(int points, bool wide, const InteractionLaunch& launch,
                        cudaStream_t stream) {
  ForPositions(points, wide, launch.general, [&]<int Q, class Mask, bool General>() {
    LaunchRowsOf<Q, Mask, General>(launch, stream);
  });
}

}  // namespace retable::treeshap
