#include "algorithms/treeshap/shared_grouping.cuh"

#include <algorithm>

#include "algorithms/treeshap/device.cuh"

namespace retable::treeshap {

namespace {

// Of a block of threads and its hash table.
struct ManyRows {
  static constexpr std::uint32_t kThreads = 512, kBits = 14, kBlocks = 2;
};
struct FewRows {
  static constexpr std::uint32_t kThreads = 64, kBits = 10, kBlocks = 24;
};
constexpr std::uint32_t kEmpty = 0xffffffffu;
constexpr int kRowsAtOnce = 4;  // of a thread

__global__ void RankRows(const float* x, const float* thresholds, const std::uint32_t* begin,
                         std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                         std::uint16_t* ranks) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= stride) return;
  for (std::uint32_t f = blockIdx.y; f < features; f += gridDim.y) {
    // Padding rows are like the last.
    const float value = x[static_cast<std::size_t>(f) * stride + min(row, rows - 1)];
    std::uint32_t low = begin[f];
    std::uint32_t high = begin[f + 1];
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (thresholds[middle] <= value)
        low = middle + 1;
      else
        high = middle;
    }
    ranks[static_cast<std::size_t>(f) * stride + row] =
        static_cast<std::uint16_t>(value != value ? kMissingRank : low - begin[f]);
  }
}

// Adds weight where rank >= cut, for two rows of 16 bits: DPX's max(min(rank + 1 - cut, 1), 0).
__device__ __forceinline__ std::uint32_t Stepped(std::uint32_t ranks, std::uint32_t bound,
                                                 std::uint32_t weight, std::uint32_t sum) {
  return __viaddmin_s16x2_relu(ranks, bound, 0x00010001u) * weight + sum;
}

// Keys of four consecutive rows. Sums of two rows share a word: in the end neither is negative nor
// above 16 bits, so what one borrows from the other on the way is given back.
__device__ __forceinline__ void Keys(const uint4* program, std::uint32_t digits, bool missing,
                                     const std::uint16_t* ranks, std::uint32_t stride,
                                     std::uint32_t row, std::uint32_t (&key)[kRowsAtOnce]) {
  uint2 half[2] = {{0, 0}, {0, 0}};
  uint4 head = program[0];
  uint2 four = __ldg(
      reinterpret_cast<const uint2*>(ranks + static_cast<std::size_t>(head.x) * stride + row));
  for (std::uint32_t d = 0; d < digits; ++d) {
    const uint2 now = four;
    const std::uint32_t groups = StepGroups(missing ? head.z : head.y);
    const std::uint32_t upper = head.w;
    const uint4* steps = program + 1;
    program += 1 + StepGroups(head.z);
    // The next digit's ranks are on their way meanwhile.
    if (d + 1 < digits) {
      head = program[0];
      four = __ldg(
          reinterpret_cast<const uint2*>(ranks + static_cast<std::size_t>(head.x) * stride + row));
    }
    uint2 sum = upper != 0 ? half[1] : half[0];
    for (std::uint32_t i = 0; i < groups; ++i) {
      const uint4 two = steps[i];
      sum.x = Stepped(now.x, two.x, two.y, sum.x);
      sum.y = Stepped(now.y, two.x, two.y, sum.y);
      sum.x = Stepped(now.x, two.z, two.w, sum.x);
      sum.y = Stepped(now.y, two.z, two.w, sum.y);
    }
    if (upper != 0)
      half[1] = sum;
    else
      half[0] = sum;
  }
  key[0] = __byte_perm(half[0].x, half[1].x, 0x5410);
  key[1] = __byte_perm(half[0].x, half[1].x, 0x7632);
  key[2] = __byte_perm(half[0].y, half[1].y, 0x5410);
  key[3] = __byte_perm(half[0].y, half[1].y, 0x7632);
}

// A block's table of keys.
template <std::uint32_t kBits>
struct Table {
  std::uint32_t* keys;     // of each slot
  std::uint16_t* numbers;  // of its class
  std::uint32_t* count;
  std::uint32_t* members;
  bool direct;  // the key is the slot

  // The key's slot, entered where it is new.
  __device__ __forceinline__ std::uint32_t Enter(std::uint32_t key, std::uint32_t row) {
    std::uint32_t slot = direct ? key : key * 2654435769u >> (32 - kBits);
    for (;;) {
      std::uint32_t found = *static_cast<volatile std::uint32_t*>(keys + slot);
      if (found == kEmpty) {
        found = atomicCAS(keys + slot, kEmpty, key);
        if (found == kEmpty) {
          const std::uint32_t number = atomicAdd(count, 1u);
          numbers[slot] = static_cast<std::uint16_t>(number);
          members[number] = row;
          return slot;
        }
      }
      if (found == key) return slot;
      slot = (slot + 1) % (1u << kBits);
    }
  }
};

template <class Size>
__global__ void __launch_bounds__(Size::kThreads, Size::kBlocks) GroupRows(GroupingLaunch p) {
  constexpr std::uint32_t kThreads = Size::kThreads;
  constexpr std::uint32_t kSlots = 1u << Size::kBits;
  extern __shared__ uint4 shared[];
  auto* keys = reinterpret_cast<std::uint32_t*>(shared);
  auto* numbers = reinterpret_cast<std::uint16_t*>(keys + kSlots);
  auto* program = reinterpret_cast<std::uint32_t*>(numbers + kSlots);
  __shared__ std::uint32_t count;
  const Unit unit = p.units[blockIdx.x];
  Table<Size::kBits> table{keys, numbers, &count,
                           p.members + static_cast<std::size_t>(blockIdx.x) * p.rows,
                           unit.keys <= kSlots};
  const std::uint32_t used = table.direct ? (unit.keys + 3) / 4 : kSlots / 4;
  for (std::uint32_t i = threadIdx.x; i < unit.key_words; i += kThreads) {
    program[i] = p.keys[unit.first_key + i];
  }
  for (std::uint32_t i = threadIdx.x; i < used; i += kThreads) {
    shared[i] = make_uint4(kEmpty, kEmpty, kEmpty, kEmpty);
  }
  if (threadIdx.x == 0) count = 0;
  __syncthreads();

  // Slots wait in the rows' places of the result.
  std::uint16_t* classes = p.classes + static_cast<std::size_t>(blockIdx.x) * p.stride;
  for (std::uint32_t row = threadIdx.x * kRowsAtOnce; row < p.stride;
       row += kThreads * kRowsAtOnce) {
    std::uint32_t key[kRowsAtOnce];
    Keys(reinterpret_cast<const uint4*>(program), unit.digits, p.missing, p.ranks, p.stride, row,
         key);
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) key[i] = table.Enter(key[i], min(row + i, p.rows - 1));
    *reinterpret_cast<uint2*>(classes + row) =
        make_uint2(key[0] | key[1] << 16, key[2] | key[3] << 16);
  }
  __syncthreads();
  for (std::uint32_t row = threadIdx.x * kRowsAtOnce; row < p.stride;
       row += kThreads * kRowsAtOnce) {
    auto* four = reinterpret_cast<uint2*>(classes + row);
    const uint2 slots = *four;
    *four = make_uint2(
        numbers[slots.x & 0xffffu] | static_cast<std::uint32_t>(numbers[slots.x >> 16]) << 16,
        numbers[slots.y & 0xffffu] | static_cast<std::uint32_t>(numbers[slots.y >> 16]) << 16);
  }

  if (threadIdx.x == 0) {
    const std::uint32_t items = (count + p.item_classes - 1) / p.item_classes;
    const std::uint32_t item = atomicAdd(p.counters + kItems, items);
    const std::uint32_t base = atomicAdd(p.counters + kTableGroups, count * unit.width);
    p.bases[blockIdx.x] = base;
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t first = i * p.item_classes;
      p.items[item + i] = {blockIdx.x, min(p.item_classes, count - first),
                           blockIdx.x * p.rows + first, base + first * unit.width};
    }
  }
}

}  // namespace

void LaunchRanks(const float* x, const float* thresholds, const std::uint32_t* begin,
                 std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                 std::uint16_t* ranks, cudaStream_t stream) {
  const dim3 grid((stride + 127) / 128, std::min<std::uint32_t>(features, 1024));
  RankRows<<<grid, 128, 0, stream>>>(x, thresholds, begin, features, rows, stride, ranks);
  CheckCuda(cudaGetLastError(), "ranks");
}

namespace {

template <class Size>
void LaunchSize(const GroupingLaunch& launch, cudaStream_t stream) {
  const std::size_t bytes = (1u << Size::kBits) * sizeof(std::uint32_t) +
                            (1u << Size::kBits) * sizeof(std::uint16_t) +
                            launch.key_words * sizeof(std::uint32_t);
  AllowSharedMemory(GroupRows<Size>, bytes);
  GroupRows<Size><<<launch.unit_count, Size::kThreads, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "grouping");
}

}  // namespace

void LaunchGrouping(const GroupingLaunch& launch, cudaStream_t stream) {
  if (launch.rows <= kFewGroupedRows) {
    LaunchSize<FewRows>(launch, stream);
  } else {
    LaunchSize<ManyRows>(launch, stream);
  }
}

}  // namespace retable::treeshap
