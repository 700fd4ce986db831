#include "algorithms/treeshap/pair_kernel.cuh"

#include <algorithm>

#include "algorithms/treeshap/pair_interpreter.hpp"

namespace retable::treeshap {

namespace {

constexpr std::size_t kBlockBytes = 56 * 1024;  // four blocks on a multiprocessor

constexpr std::uint32_t kFewSlots = 4;     // of a lane in shared memory
constexpr std::uint32_t kLocalSlots = 24;  // and in local memory

// Slots in shared memory: the low, busy ones, and what local memory cannot hold.
__host__ __device__ constexpr std::uint32_t SharedSlots(std::uint32_t slots) {
  const std::uint32_t few = slots < kFewSlots ? slots : kFewSlots;
  return slots > few + kLocalSlots ? slots - kLocalSlots : few;
}

// G, the mask and K of each slot. Slots are uniform over the warp, so the branch is too.
template <int Q>
struct PairStack {
  static constexpr int kV = pairs::kGroups<Q>;
  static constexpr int kVectors = 2 * kV + 1;
  static constexpr int kSlot = kVectors * 32;  // groups of four words

  float4* at;     // shared, of the lane
  float4* local;  // kLocalSlots x kVectors
  int shared_slots;

  __device__ __forceinline__ void PushG(int slot, const float (&g)[Q], std::uint64_t mask) {
    const float4 bits = make_float4(__uint_as_float(static_cast<std::uint32_t>(mask)),
                                    __uint_as_float(static_cast<std::uint32_t>(mask >> 32)), 0, 0);
    if (slot < shared_slots) {
      Store(at + slot * kSlot, 32, g);
      at[slot * kSlot + 2 * kV * 32] = bits;
    } else {
      Store(local + (slot - shared_slots) * kVectors, 1, g);
      local[(slot - shared_slots) * kVectors + 2 * kV] = bits;
    }
  }
  __device__ __forceinline__ void PeekG(int slot, float (&g)[Q], std::uint64_t& mask) const {
    float4 bits;
    if (slot < shared_slots) {
      Load(at + slot * kSlot, 32, g);
      bits = at[slot * kSlot + 2 * kV * 32];
    } else {
      Load(local + (slot - shared_slots) * kVectors, 1, g);
      bits = local[(slot - shared_slots) * kVectors + 2 * kV];
    }
    mask = static_cast<std::uint64_t>(__float_as_uint(bits.y)) << 32 | __float_as_uint(bits.x);
  }
  __device__ __forceinline__ void PushK(int slot, const float (&k)[Q]) {
    if (slot < shared_slots) {
      Store(at + slot * kSlot + kV * 32, 32, k);
    } else {
      Store(local + (slot - shared_slots) * kVectors + kV, 1, k);
    }
  }
  __device__ __forceinline__ void PeekK(int slot, float (&k)[Q]) const {
    if (slot < shared_slots) {
      Load(at + slot * kSlot + kV * 32, 32, k);
    } else {
      Load(local + (slot - shared_slots) * kVectors + kV, 1, k);
    }
  }

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
};

// A row of the tree's part above the units.
template <int Q>
struct RowMemory : PairStack<Q> {
  const PairLaunch& p;
  float* sums;  // shared, of the lane
  std::uint32_t row;
  std::uint32_t group;

  __device__ __forceinline__ RowMemory(const PairLaunch& launch) : p(launch) {}

  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return __ldg(p.x + static_cast<std::size_t>(bits & tape::kFeatureMask) * p.stride + row);
  }

  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    const std::uint32_t head = __ldg(p.sets + offset);
    if (!(value >= 0) || value >= static_cast<float>((head & 0x7fffffffu) * 32)) {
      return (head >> 31) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    return ((__ldg(p.sets + offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
  }

  __device__ __forceinline__ void AddPair(std::uint32_t pair, float value) {
    if (p.shared_pairs != 0) {
      sums[pair * 32] += value;
    } else if (value != 0) {
      AddGlobal(pair, value);
    }
  }

  __device__ __forceinline__ void AddGlobal(std::uint32_t pair, float value) {
    const std::size_t pair_count = std::size_t{p.features} * (p.features + 1) / 2;
    const long long fixed = __double2ll_rn(static_cast<double>(value) * p.scale);
    atomicAdd(p.out + (group * pair_count + pair) * p.stride + row,
              static_cast<unsigned long long>(fixed));
  }

  __device__ __forceinline__ const Float4* Shared(const Float4* at, const Float4& head,
                                                  float (&k)[Q]) {
    const std::uint32_t unit = tape::Bits(head.y) - p.first_unit;
    const std::uint32_t count = tape::Bits(head.z);
    const std::uint32_t number = __ldg(p.classes + static_cast<std::size_t>(unit) * p.stride + row);
    const float4* from = p.table + __ldg(p.bases + unit) + number * tape::Bits(head.w);
#pragma unroll
    for (int v = 0; v < pairs::kGroups<Q>; ++v) {
      const float4 four = __ldg(from + v);
      k[4 * v] = four.x;
      if (4 * v + 1 < Q) k[4 * v + 1] = four.y;
      if (4 * v + 2 < Q) k[4 * v + 2] = four.z;
      if (4 * v + 3 < Q) k[4 * v + 3] = four.w;
    }
    from += pairs::kGroups<Q>;
#pragma unroll 2
    for (std::uint32_t i = 0; i < count; i += 4, ++at) {
      const Float4 ids = *at;
      const float4 values = __ldg(from++);
      AddPair(tape::Bits(ids.x), values.x);
      if (i + 1 < count) AddPair(tape::Bits(ids.y), values.y);
      if (i + 2 < count) AddPair(tape::Bits(ids.z), values.z);
      if (i + 3 < count) AddPair(tape::Bits(ids.w), values.w);
    }
    return at;
  }

  __device__ __forceinline__ void EndTree() {
    if (p.shared_pairs == 0) return;
    const std::uint32_t pair_count = p.features * (p.features + 1) / 2;
    for (std::uint32_t i = 0; i < pair_count; ++i) {
      const float value = sums[i * 32];
      if (value != 0) AddGlobal(i, value);
    }
  }
};

// A class of rows in a unit: features are places in the unit's list.
template <int Q>
struct ClassMemory : PairStack<Q> {
  float* columns;  // shared, of the lane: x of each place
  float* sums;     // shared, of the lane

  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return columns[(bits & tape::kFeatureMask) * 32];
  }
  __device__ __forceinline__ bool InSet(std::uint32_t, float) const { return false; }
  __device__ __forceinline__ void AddPair(std::uint32_t pair, float value) {
    sums[pair * 32] += value;
  }
  __device__ __forceinline__ const Float4* Shared(const Float4* at, const Float4&, float (&)[Q]) {
    return at;
  }
  __device__ __forceinline__ void EndTree() {}
};

template <int Q>
__global__ void __launch_bounds__(32) PairKernel(PairLaunch launch) {
  extern __shared__ float4 pair_shared[];
  RowMemory<Q> memory(launch);
  float4 local[kLocalSlots * PairStack<Q>::kVectors];
  memory.local = local;
  memory.shared_slots = static_cast<int>(SharedSlots(launch.slots));
  memory.at = pair_shared + threadIdx.x;
  memory.sums = reinterpret_cast<float*>(pair_shared + memory.shared_slots * PairStack<Q>::kSlot) +
                threadIdx.x;
  memory.row = blockIdx.y * 32 + threadIdx.x;
  const PairSegment segment = launch.segments[blockIdx.x];
  memory.group = segment.group;
  if (launch.shared_pairs != 0) {
    const std::uint32_t count = launch.features * (launch.features + 1) / 2;
    for (std::uint32_t i = 0; i < count; ++i) memory.sums[i * 32] = 0;
  }
  pairs::Lane<Q> lane;
  pairs::Run<Q>(launch.words + segment.first_word, lane, memory);
}

// Warps take items in turn.
template <int Q>
__global__ void __launch_bounds__(128) PairUnitKernel(PairUnitLaunch p) {
  extern __shared__ float4 pair_shared[];
  constexpr int kV = pairs::kGroups<Q>;
  const std::uint32_t lane_index = threadIdx.x % 32;
  const std::uint32_t stack_groups = SharedSlots(p.slots) * PairStack<Q>::kSlot;
  const std::uint32_t column_groups = (p.features + p.pairs) * 8;
  float4* mine = pair_shared + threadIdx.x / 32 * (stack_groups + column_groups + p.unit_words);
  ClassMemory<Q> memory;
  float4 local[kLocalSlots * PairStack<Q>::kVectors];
  memory.local = local;
  memory.shared_slots = static_cast<int>(SharedSlots(p.slots));
  memory.at = mine + lane_index;
  memory.columns = reinterpret_cast<float*>(mine + stack_groups) + lane_index;
  memory.sums = memory.columns + p.features * 32;
  auto* words = reinterpret_cast<Float4*>(mine + stack_groups + column_groups);
  const std::uint32_t items = p.counters[kItems];
  for (;;) {
    std::uint32_t next = 0;
    if (lane_index == 0) next = atomicAdd(p.counters + kItemsTaken, 1);
    next = __shfl_sync(0xffffffffu, next, 0);
    if (next >= items) return;
    const UnitItem item = p.items[next];
    const Unit unit = p.units[item.unit];
    // The whole tape at once: read word by word it would wait for the second-level cache each time.
    __syncwarp();
    for (std::uint32_t i = lane_index; i < unit.words; i += 32) {
      words[i] = p.words[unit.first_word + i];
    }
    __syncwarp();
    const std::uint32_t row = p.members[item.row + min(lane_index, item.count - 1)];
    for (std::uint32_t f = 0; f < unit.features; ++f) {
      memory.columns[f * 32] = __ldg(
          p.x + static_cast<std::size_t>(p.feature_lists[unit.first_feature + f]) * p.stride + row);
    }
    const std::uint32_t count = UnitPairs(unit.own, unit.features);
    for (std::uint32_t i = 0; i < count; ++i) memory.sums[i * 32] = 0;
    pairs::Lane<Q> lane;
    const Float4* at = pairs::StartUnit<Q>(words, unit.path_factors, lane, memory);
    pairs::Run<Q>(at, lane, memory);
    if (lane_index >= item.count) continue;
    float4* to = p.table + p.bases[item.unit] + (item.first + lane_index) * unit.width;
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const auto k = [&](int q) { return q < Q ? lane.k[q] : 0.0f; };
      to[v] = make_float4(k(4 * v), k(4 * v + 1), k(4 * v + 2), k(4 * v + 3));
    }
    const auto sum = [&](std::uint32_t i) { return i < count ? memory.sums[i * 32] : 0.0f; };
    for (std::uint32_t i = 0; i < count; i += 4) {
      to[kV + i / 4] = make_float4(sum(i), sum(i + 1), sum(i + 2), sum(i + 3));
    }
  }
}

template <int Q>
void Launch(const PairLaunch& launch, cudaStream_t stream) {
  const std::size_t bytes = PairSharedBytes(Q, launch);
  AllowSharedMemory(PairKernel<Q>, bytes);
  PairKernel<Q><<<dim3(launch.segment_count, launch.stride / 32), 32, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction kernel");
}

template <int Q>
void LaunchUnitsOf(const PairUnitLaunch& launch, cudaStream_t stream) {
  const std::size_t warp = PairUnitSharedBytes(Q, launch);
  std::uint32_t warps = 4;
  while (warps > 1 && warps * warp > kBlockBytes) warps /= 2;
  const std::size_t bytes = warps * warp;
  AllowSharedMemory(PairUnitKernel<Q>, bytes);
  // Blocks for the largest GPU: those without work return at once, and no result depends on them.
  PairUnitKernel<Q><<<24 * 148 / warps, 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction unit kernel");
}

std::size_t SlotBytes(int points) {
  return static_cast<std::size_t>(2 * ((points + 3) / 4) + 1) * 32 * sizeof(float4);
}

}  // namespace

std::size_t PairSharedBytes(int points, const PairLaunch& launch) {
  const std::size_t pairs =
      launch.shared_pairs != 0 ? std::size_t{launch.features} * (launch.features + 1) / 2 : 0;
  return SharedSlots(launch.slots) * SlotBytes(points) + pairs * 32 * sizeof(float);
}

std::size_t PairUnitSharedBytes(int points, const PairUnitLaunch& launch) {
  return SharedSlots(launch.slots) * SlotBytes(points) +
         (std::size_t{launch.features} + launch.pairs) * 32 * sizeof(float) +
         launch.unit_words * sizeof(float4);
}

void LaunchPairs(int points, const PairLaunch& launch, cudaStream_t stream) {
  if (points == 4) {
    Launch<4>(launch, stream);
  } else if (points == 6) {
    Launch<6>(launch, stream);
  } else {
    Launch<8>(launch, stream);
  }
}

void LaunchPairUnits(int points, const PairUnitLaunch& launch, cudaStream_t stream) {
  if (points == 4) {
    LaunchUnitsOf<4>(launch, stream);
  } else if (points == 6) {
    LaunchUnitsOf<6>(launch, stream);
  } else {
    LaunchUnitsOf<8>(launch, stream);
  }
}

}  // namespace retable::treeshap
