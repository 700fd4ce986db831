#include "algorithms/treeshap/shared_grouping.cuh"

#include <algorithm>

#include "algorithms/treeshap/device.cuh"
#include "algorithms/treeshap/quadrature_tape.hpp"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kThreads = 512;
constexpr std::uint32_t kSlots = 16384;  // of the hash table
constexpr std::uint32_t kEmpty = 0xffffffffu;
constexpr int kRowsAtOnce = 4;  // of a thread

__global__ void RankRows(const float* x, const float* thresholds, const std::uint32_t* begin,
                         std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                         std::uint16_t* ranks) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= stride) return;
  for (std::uint32_t f = blockIdx.y; f < features; f += gridDim.y) {
    const float value = x[static_cast<std::size_t>(f) * stride + row];
    std::uint32_t low = begin[f];
    std::uint32_t high = begin[f + 1];
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (thresholds[middle] <= value)
        low = middle + 1;
      else
        high = middle;
    }
    const bool missing = value != value || row >= rows;
    ranks[static_cast<std::size_t>(f) * stride + row] =
        static_cast<std::uint16_t>(missing ? kMissingRank : low - begin[f]);
  }
}

__device__ __forceinline__ void Unpack(uint2 four, std::uint32_t (&rank)[kRowsAtOnce]) {
  rank[0] = four.x & 0xffffu;
  rank[1] = four.x >> 16;
  rank[2] = four.y & 0xffffu;
  rank[3] = four.y >> 16;
}

// Keys of four consecutive rows.
__device__ __forceinline__ void Keys(const std::uint32_t* program, std::uint32_t digits,
                                     const std::uint16_t* ranks, std::uint32_t stride,
                                     std::uint32_t row, std::uint32_t (&key)[kRowsAtOnce]) {
#pragma unroll
  for (int i = 0; i < kRowsAtOnce; ++i) key[i] = 0;
  for (std::uint32_t d = 0; d < digits; ++d) {
    const uint4 head = *reinterpret_cast<const uint4*>(program);
    program += kDigitWords;
    std::uint32_t rank[kRowsAtOnce];
    Unpack(__ldg(reinterpret_cast<const uint2*>(ranks + static_cast<std::size_t>(head.x) * stride +
                                                row)),
           rank);
    const std::uint32_t low = head.z & 0xffffu;
    const std::uint32_t width = (head.z >> 16) - low;
    const std::uint32_t step = head.y;
    // A rank outside becomes one below every cut.
    std::uint32_t found[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const bool inside = rank[i] - low < width;
      const std::uint32_t missing = rank[i] == kMissingRank ? (head.w >> 16) * step : 0;
      found[i] = inside ? rank[i] : 0u;
      key[i] += inside ? step : missing;
    }
    const std::uint32_t count = head.w & 0xffffu;
    for (std::uint32_t c = 0; c < count; c += 2) {
      const std::uint32_t cuts = *program++;
      const std::uint32_t first = cuts & 0xffffu;
      const std::uint32_t second = c + 1 < count ? cuts >> 16 : kEmpty;
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        if (found[i] >= first) key[i] += step;
        if (found[i] >= second) key[i] += step;
      }
    }
    program += (kDigitWords - (count + 1) / 2 % kDigitWords) % kDigitWords;
  }
}

// The key's slot, entered where it is new.
__device__ __forceinline__ std::uint32_t Enter(std::uint32_t* table, std::uint32_t key,
                                               bool direct) {
  if (direct) {
    table[key] = 0;
    return key;
  }
  std::uint32_t slot = key * 2654435769u >> 18;
  for (;;) {
    std::uint32_t found = *static_cast<volatile std::uint32_t*>(table + slot);
    if (found == kEmpty) found = atomicCAS(table + slot, kEmpty, key);
    if (found == kEmpty || found == key) return slot;
    slot = (slot + 1) % kSlots;
  }
}

__global__ void __launch_bounds__(kThreads, 2) GroupRows(GroupingLaunch p) {
  extern __shared__ uint4 shared[];
  auto* table = reinterpret_cast<std::uint32_t*>(shared);
  auto* slots = reinterpret_cast<std::uint16_t*>(table + kSlots);
  auto* program = reinterpret_cast<std::uint32_t*>(slots + kGroupedRows);
  __shared__ std::uint32_t count, first_member;
  const Unit unit = p.units[blockIdx.x];
  const bool direct = unit.keys <= kSlots;
  const std::uint32_t used = direct ? unit.keys : kSlots;
  for (std::uint32_t i = threadIdx.x; i < unit.key_words; i += kThreads) {
    program[i] = p.keys[unit.first_key + i];
  }
  for (std::uint32_t i = threadIdx.x; i < used; i += kThreads) table[i] = kEmpty;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();

  for (std::uint32_t row = threadIdx.x * kRowsAtOnce; row < p.rows; row += kThreads * kRowsAtOnce) {
    std::uint32_t key[kRowsAtOnce];
    Keys(program, unit.digits, p.ranks, p.stride, row, key);
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i < p.rows) {
        slots[row + i] = static_cast<std::uint16_t>(Enter(table, key[i], direct));
      }
    }
  }
  __syncthreads();

  for (std::uint32_t i = threadIdx.x; i < (used + 31) / 32 * 32; i += kThreads) {
    const bool met = i < used && table[i] != kEmpty;
    const unsigned all = __ballot_sync(0xffffffffu, met);
    std::uint32_t base = 0;
    if (threadIdx.x % 32 == 0 && all != 0) base = atomicAdd(&count, __popc(all));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (met) table[i] = base + __popc(all & ((1u << threadIdx.x % 32) - 1));
  }
  __syncthreads();

  if (threadIdx.x == 0) {
    const std::uint32_t items = (count + p.item_classes - 1) / p.item_classes;
    const std::uint32_t item = atomicAdd(p.counters, items);
    first_member = atomicAdd(p.counters + 1, count);
    p.bases[blockIdx.x] = atomicAdd(p.counters + 2, count * ClassWidth(p.points, unit.own));
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t first = i * p.item_classes;
      p.items[item + i] = {blockIdx.x, first, min(p.item_classes, count - first),
                           first_member + first};
    }
  }
  __syncthreads();

  // Padding rows take the first class.
  std::uint16_t* classes = p.classes + static_cast<std::size_t>(blockIdx.x) * p.stride;
  for (std::uint32_t row = threadIdx.x; row < p.stride; row += kThreads) {
    const std::uint32_t number = row < p.rows ? table[slots[row]] : 0u;
    classes[row] = static_cast<std::uint16_t>(number);
    if (row < p.rows) p.members[first_member + number] = row;
  }
}

}  // namespace

void LaunchRanks(const float* x, const float* thresholds, const std::uint32_t* begin,
                 std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                 std::uint16_t* ranks, cudaStream_t stream) {
  const dim3 grid((stride + 127) / 128, std::min<std::uint32_t>(features, 1024));
  RankRows<<<grid, 128, 0, stream>>>(x, thresholds, begin, features, rows, stride, ranks);
  CudaCheck(cudaGetLastError(), "ranks");
}

void LaunchGrouping(const GroupingLaunch& launch, cudaStream_t stream) {
  const std::size_t bytes = kSlots * sizeof(std::uint32_t) + kGroupedRows * sizeof(std::uint16_t) +
                            launch.key_words * sizeof(std::uint32_t);
  CudaCheck(cudaFuncSetAttribute(GroupRows, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "grouping kernel's shared memory");
  GroupRows<<<launch.unit_count, kThreads, bytes, stream>>>(launch);
  CudaCheck(cudaGetLastError(), "grouping");
}

}  // namespace retable::treeshap
