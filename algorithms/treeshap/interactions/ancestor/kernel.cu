#include "algorithms/treeshap/interactions/ancestor/kernel.cuh"

#include <algorithm>

#include "algorithms/treeshap/interactions/ancestor/interpreter.hpp"
#include "algorithms/treeshap/interactions/common/tile_kernel.cuh"
#include "algorithms/treeshap/quadrature/cuda/async_copy.cuh"
#include "algorithms/treeshap/quadrature/sharing/work_queue.cuh"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kFewSlots = 3;                    // in shared memory at most, the busy ones
constexpr std::uint32_t kLocalSlots = pairs::kMostSlots;  // and in local memory

// What lies beside the tape in shared memory, in groups of four words of a warp: the stack, x of
// the part's features, then the sums and one more that nothing reads.
__host__ __device__ constexpr std::uint32_t StackGroups(int points, const PairSizes& sizes) {
  return sizes.shared_slots * 2 * static_cast<std::uint32_t>((points + 3) / 4) * 32;
}
__host__ __device__ constexpr std::uint32_t WarpGroups(int points, const PairSizes& sizes) {
  return StackGroups(points, sizes) + (sizes.features + sizes.pairs + 1) * 8;
}

// G and K of each slot. Slots are uniform over the warp, so the branch is too.
template <int Q>
struct PairStack {
  static constexpr int kV = pairs::kGroups<Q>;
  static constexpr int kSlot = 2 * kV * 32;  // groups of four words

  float4* at;     // shared, of the lane
  float4* local;  // kLocalSlots x 2 kV
  int shared_slots;

  __device__ __forceinline__ void PushG(int slot, const float (&g)[Q]) { Put(slot, 0, g); }
  __device__ __forceinline__ void PeekG(int slot, float (&g)[Q]) const { Get(slot, 0, g); }
  __device__ __forceinline__ void PushK(int slot, const float (&k)[Q]) { Put(slot, kV, k); }
  __device__ __forceinline__ void PeekK(int slot, float (&k)[Q]) const { Get(slot, kV, k); }

  static __device__ __forceinline__ void Store(float4* to, int step, const float (&a)[Q]) {
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const auto word = [&](int i) { return 4 * v + i < Q ? a[4 * v + i] : 0.0f; };
      to[v * step] = make_float4(word(0), word(1), word(2), word(3));
    }
  }
  static __device__ __forceinline__ void Load(const float4* from, int step, float (&a)[Q]) {
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const float4 four = from[v * step];
      a[4 * v] = four.x;
      if (4 * v + 1 < Q) a[4 * v + 1] = four.y;
      if (4 * v + 2 < Q) a[4 * v + 2] = four.z;
      if (4 * v + 3 < Q) a[4 * v + 3] = four.w;
    }
  }

 private:
  __device__ __forceinline__ void Put(int slot, int part, const float (&a)[Q]) {
    if (slot < shared_slots) {
      Store(at + slot * kSlot + part * 32, 32, a);
    } else {
      Store(local + (slot - shared_slots) * 2 * kV + part, 1, a);
    }
  }
  __device__ __forceinline__ void Get(int slot, int part, float (&a)[Q]) const {
    if (slot < shared_slots) {
      Load(at + slot * kSlot + part * 32, 32, a);
    } else {
      Load(local + (slot - shared_slots) * 2 * kV + part, 1, a);
    }
  }
};

template <int Q>
struct LaneMemory : PairStack<Q> {
  float* columns;  // shared, of the lane: x of each place
  float* sums;     // shared, of the lane

  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return columns[(bits & tape::kFeatureMask) * 32];
  }
  // 32 lanes of four bytes: the word holds the slot in units of 128 bytes.
  __device__ __forceinline__ float& Sum(std::uint32_t word) const {
    return *reinterpret_cast<float*>(reinterpret_cast<char*>(sums) + (word & pairs::kSumMask));
  }
};

// A row of a part.
template <int Q>
struct RowMemory : LaneMemory<Q> {
  const PairLaunch& p;
  std::uint32_t row;

  __device__ __forceinline__ RowMemory(const PairLaunch& launch) : p(launch) {}

  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    return InCategories(p.sets, offset, value);
  }

  __device__ __forceinline__ void Below(std::uint32_t part, float (&k)[Q]) const {
    const float* from = p.below + static_cast<std::size_t>(part) * Q * p.stride + row;
#pragma unroll
    for (int q = 0; q < Q; ++q) k[q] = __ldcg(from + static_cast<std::size_t>(q) * p.stride);
  }

  __device__ __forceinline__ void Shared(const Float4* at, const Float4& head, float (&k)[Q]) {
    constexpr int kV = pairs::kGroups<Q>;
    constexpr std::uint32_t kAhead = 4;
    const std::uint32_t unit = tape::Bits(head.y);
    const std::uint32_t groups = (tape::Bits(head.z) + 3) / 4;
    const std::uint32_t number = __ldg(p.classes + static_cast<std::size_t>(unit) * p.stride + row);
    const float4* from = p.table + __ldg(p.bases + unit) + number * tape::Bits(head.w);
    PairStack<Q>::Load(from, 1, k);
    from += kV;
    const std::uint32_t pad = p.sizes.pairs << pairs::kSumShift;
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

// A class of rows in a unit.
template <int Q>
struct ClassMemory : LaneMemory<Q> {
  __device__ __forceinline__ bool InSet(std::uint32_t, float) const { return false; }
  __device__ __forceinline__ void Below(std::uint32_t, float (&)[Q]) const {}
  __device__ __forceinline__ void Shared(const Float4*, const Float4&, float (&)[Q]) const {}
};

// The warp's share of the block's memory, and the row's values in it.
template <int Q, class Memory>
__device__ __forceinline__ void Place(float4* own, const PairSizes& sizes, float4* local,
                                      Memory& memory) {
  memory.local = local;
  memory.shared_slots = static_cast<int>(sizes.shared_slots);
  memory.at = own + threadIdx.x % 32;
  memory.columns = reinterpret_cast<float*>(own + StackGroups(Q, sizes)) + threadIdx.x % 32;
  memory.sums = memory.columns + sizes.features * 32;
}

// The row's values in the order of the part's features, and sums of nothing. `x`: of the row.
template <class Memory>
__device__ __forceinline__ void Fill(const PairPart& part, const Float4* words, const float* x,
                                     std::uint32_t stride, Memory& memory) {
#pragma unroll 8
  for (std::uint32_t i = 0; i < part.features; ++i) {
    memory.columns[i * 32] = __ldg(x + static_cast<std::size_t>(Listed(words, i)) * stride);
  }
#pragma unroll 8
  for (std::uint32_t i = 0; i < part.pairs; ++i) memory.sums[i * 32] = 0;
}

// Blocks take parts in the order of the tickets, and a row for each of their threads.
template <int Q, class Mask, bool General>
__global__ void __launch_bounds__(32 * kMostWarps) PairKernel(PairLaunch p) {
  extern __shared__ float4 pair_shared[];
  __shared__ std::uint32_t ticket;
  auto* words = reinterpret_cast<Float4*>(pair_shared);
  RowMemory<Q> memory(p);
  float4 local[kLocalSlots * 2 * pairs::kGroups<Q>];
  Place<Q>(pair_shared + p.sizes.words + threadIdx.x / 32 * WarpGroups(Q, p.sizes), p.sizes, local,
           memory);
  const std::uint32_t row_blocks = (p.stride + blockDim.x - 1) / blockDim.x;
  if (threadIdx.x == 0) ticket = atomicAdd(p.progress, 1u);
  __syncthreads();
  for (;;) {
    const std::uint32_t number = ticket / row_blocks;
    if (number >= p.count) return;
    const std::uint32_t row_block = ticket % row_blocks;
    const PairPart part = p.parts[number];
    for (std::uint32_t i = threadIdx.x; i < part.words; i += blockDim.x) {
      words[i] = p.words[part.first_word + i];
    }
    std::uint32_t* ended = p.progress + 1 + row_block;
    if (threadIdx.x == 0 && part.below > 0) {
      while (Acquired(ended + number * row_blocks) < part.below) __nanosleep(32);
    }
    __syncthreads();
    // Drawn ahead: the answer comes while the part is worked through.
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(p.progress, 1u);
    const std::uint32_t row = row_block * blockDim.x + threadIdx.x;
    const bool alive = row < p.stride;
    memory.row = alive ? row : p.stride - 1;
    Fill(part, words, p.x + memory.row, p.stride, memory);
    pairs::Lane<Q, Mask> lane;
    pairs::Evaluate<General>(words, part, lane, memory);
    if (part.above != PairPart::kNoPart) {
      float* to = p.below + static_cast<std::size_t>(number) * Q * p.stride + memory.row;
#pragma unroll
      for (int q = 0; q < Q; ++q) to[static_cast<std::size_t>(q) * p.stride] = lane.k[q];
      __syncthreads();
      if (threadIdx.x == 0) ReleaseOne(ended + part.above * row_blocks);
    }
    if (alive) {
      unsigned long long* sums = p.out + row;
      const Float4* list = words + (part.features + 3) / 4;
#pragma unroll 4
      for (std::uint32_t i = 0; i < part.pairs; ++i) {
        const float value = memory.sums[i * 32];
        if (value == 0) continue;
        const long long fixed = __float2ll_rn(value * p.scale[0] * p.scale[1]);
        atomicAdd(sums + static_cast<std::size_t>(Listed(list, i)) * p.stride,
                  static_cast<unsigned long long>(fixed));
      }
    }
    if (threadIdx.x == 0) ticket = next;
    __syncthreads();
  }
}

// Warps take items in turn.
template <int Q, class Mask, bool General>
__global__ void __launch_bounds__(32 * kMostWarps) PairUnitKernel(PairUnitLaunch p) {
  extern __shared__ float4 pair_shared[];
  constexpr int kV = pairs::kGroups<Q>;
  const std::uint32_t lane_index = threadIdx.x % 32;
  const std::uint32_t warp_groups = WarpGroups(Q, p.sizes);
  float4* mine = pair_shared + threadIdx.x / 32 * (warp_groups + p.sizes.words);
  auto* words = reinterpret_cast<Float4*>(mine + warp_groups);
  ClassMemory<Q> memory;
  float4 local[kLocalSlots * 2 * kV];
  Place<Q>(mine, p.sizes, local, memory);
  ItemQueue<PairPart> queue(p.items, p.parts, p.counters);
  SubtreeItem item;
  PairPart part;
  queue.Start();
  while (queue.Take(item, part)) {
    // The whole tape at once: read word by word it would wait for the second-level cache each time.
    __syncwarp();
    CopyAsync(words, p.words + part.first_word, part.words, lane_index, 32);
    queue.ReadItem();
    const std::uint32_t row = p.members[item.row + min(lane_index, item.count - 1)];
    WaitForCopies();
    __syncwarp();
    Fill(part, words, p.x + row, p.stride, memory);
    queue.ReadRecord();
    pairs::Lane<Q, Mask> lane;
    pairs::Evaluate<General>(words, part, lane, memory);
    if (lane_index >= item.count) continue;
    float4* to = p.table + item.table + lane_index * (kV + (part.pairs + 3) / 4);
    PairStack<Q>::Store(to, 1, lane.k);
    const auto sum = [&](std::uint32_t i) { return i < part.pairs ? memory.sums[i * 32] : 0.0f; };
    for (std::uint32_t i = 0; i < part.pairs; i += 4) {
      to[kV + i / 4] = make_float4(sum(i), sum(i + 1), sum(i + 2), sum(i + 3));
    }
  }
}

std::uint32_t UnitWarps(int points, const PairSizes& sizes) {
  return PairSharedBytes(points, sizes, 1) * 4 > kMultiprocessorBytes / 3 ? 1 : 4;
}

template <int Q, class Mask, bool General>
void LaunchUnitsOf(PairUnitLaunch launch, cudaStream_t stream) {
  launch.sizes.shared_slots = std::min(launch.sizes.slots, kFewSlots);
  const std::uint32_t warps = UnitWarps(Q, launch.sizes);
  const std::size_t bytes = warps * PairSharedBytes(Q, launch.sizes, 1);
  AllowSharedMemory(PairUnitKernel<Q, Mask, General>, bytes);
  // Blocks for the largest GPU: those without work return at once, and no result depends on them.
  PairUnitKernel<Q, Mask, General><<<24 * 148 / warps, 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction unit kernel");
}

// With as many slots of the stack in shared memory as leave most warps: more of them hide more than
// slots save.
PartShape ShapeOf(int points, PairSizes sizes, std::uint32_t most) {
  PartShape best;
  for (sizes.shared_slots = std::min(sizes.slots, kFewSlots);; --sizes.shared_slots) {
    PartShape shape = MostResident(
        most, [&](std::uint32_t warps) { return PairSharedBytes(points, sizes, warps); });
    shape.slots = sizes.shared_slots;
    if (shape.resident > best.resident) best = shape;
    if (sizes.shared_slots == 0) return best;
  }
}

template <int Q, class Mask, bool General>
void LaunchRowsOf(PairLaunch launch, cudaStream_t stream) {
  const PartShape shape = ShapeOf(Q, launch.sizes, launch.stride / 32);
  const std::uint32_t warps = shape.warps;
  launch.sizes.shared_slots = shape.slots;
  const std::size_t bytes = PairSharedBytes(Q, launch.sizes, warps);
  AllowSharedMemory(PairKernel<Q, Mask, General>, bytes);
  const std::uint32_t row_blocks = (launch.stride / 32 + warps - 1) / warps;
  // As many blocks as are at work at once; no result depends on it.
  int resident = 1;
  CheckCuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, PairKernel<Q, Mask, General>,
                                                          static_cast<int>(32 * warps), bytes),
            "occupancy");
  const auto blocks = static_cast<std::uint32_t>(std::max(1, resident) * MultiprocessorCount());
  PairKernel<Q, Mask, General>
      <<<std::min(launch.count * row_blocks, blocks), 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction kernel");
}

// The kernel for these points, positions and values.
template <class Function>
void ForPoints(int points, bool wide, bool general, Function function) {
  const auto either = [&]<int Q, class Mask>() {
    if (general) {
      function.template operator()<Q, Mask, true>();
    } else {
      function.template operator()<Q, Mask, false>();
    }
  };
  if (wide) {
    function.template operator()<8, std::uint64_t, true>();
  } else if (points == 4) {
    either.template operator()<4, std::uint32_t>();
  } else if (points == 6) {
    either.template operator()<6, std::uint32_t>();
  } else {
    either.template operator()<8, std::uint32_t>();
  }
}

}  // namespace

std::size_t PairSharedBytes(int points, const PairSizes& sizes, std::uint32_t warps) {
  return (sizes.words + warps * WarpGroups(points, sizes)) * sizeof(float4);
}

void LaunchPairUnits(int points, bool wide, const PairUnitLaunch& launch, cudaStream_t stream) {
  ForPoints(points, wide, launch.general, [&]<int Q, class Mask, bool General>() {
    LaunchUnitsOf<Q, Mask, General>(launch, stream);
  });
}

void LaunchPairs(int points, bool wide, const PairLaunch& launch, cudaStream_t stream) {
  ForPoints(points, wide, launch.general, [&]<int Q, class Mask, bool General>() {
    LaunchRowsOf<Q, Mask, General>(launch, stream);
  });
}

}  // namespace retable::treeshap
