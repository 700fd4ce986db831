#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"

#include <algorithm>

#include "base/cuda/streams.hpp"

namespace retable::treeshap {

namespace {

// Of a block of threads and its hash table.
struct ManyRows {
  static constexpr std::uint32_t kThreads = 512, kBits = 14, kBlocks = 2, kRows = kGroupedRows;
};
struct FewRows {
  static constexpr std::uint32_t kThreads = 64, kBits = 10, kBlocks = 24, kRows = kFewGroupedRows;
};
constexpr std::uint32_t kEmpty = 0xffffffffu;
constexpr std::uint32_t kRowsAtOnce = 8;          // of a thread
constexpr std::uint32_t kTwos = kRowsAtOnce / 2;  // words of two rows
constexpr std::uint32_t kListed = 512;            // eights of rows that wait for a second look

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

// A subtree's digits on the way to the keys of eight consecutive rows, two of them in a word.
struct Digits {
  const uint4* program;  // of the next one
  const char* ranks;     // of the rows
  std::uint32_t bytes;   // between features
  std::uint32_t left;
  bool missing;
  uint4 head;   // the next one's
  uint4 eight;  // and ranks of its feature

  __device__ __forceinline__ void Read() {
    head = program[0];
    eight = __ldg(reinterpret_cast<const uint4*>(ranks + std::uint64_t{head.x} * bytes));
  }

  // Adds up one half of the keys. Sums of two rows share a word: in the end neither is negative nor
  // above 16 bits, so what one borrows from the other on the way is given back.
  __device__ __forceinline__ void Half(std::uint32_t half, std::uint32_t (&sum)[kTwos]) {
#pragma unroll
    for (std::uint32_t i = 0; i < kTwos; ++i) sum[i] = 0;
#pragma unroll 1
    for (; left > 0 && head.w == half; --left) {
      const std::uint32_t now[kTwos] = {eight.x, eight.y, eight.z, eight.w};
      const uint4* steps = program;
      const uint4* last = steps + (missing ? head.z : head.y);
      // The next digit's ranks are on their way meanwhile.
      program += 1 + head.z;
      Read();
#pragma unroll 1
      do {
        const uint4 two = *++steps;
#pragma unroll
        for (std::uint32_t i = 0; i < kTwos; ++i) sum[i] = Stepped(now[i], two.x, two.y, sum[i]);
#pragma unroll
        for (std::uint32_t i = 0; i < kTwos; ++i) sum[i] = Stepped(now[i], two.z, two.w, sum[i]);
      } while (steps != last);
    }
  }
};

// Keys of eight consecutive rows. The digits of the lower half come first; behind the last stands
// the head of none.
__device__ __forceinline__ void Keys(const uint4* program, std::uint32_t digits, bool missing,
                                     const std::uint16_t* ranks, std::uint32_t stride,
                                     std::uint32_t (&key)[kRowsAtOnce]) {
  Digits way{program,
             reinterpret_cast<const char*>(ranks),
             stride * static_cast<std::uint32_t>(sizeof(std::uint16_t)),
             digits,
             missing,
             {},
             {}};
  std::uint32_t low[kTwos];
  std::uint32_t high[kTwos];
  way.Read();
  way.Half(0, low);
  way.Half(1, high);
#pragma unroll
  for (std::uint32_t i = 0; i < kTwos; ++i) {
    key[2 * i] = __byte_perm(low[i], high[i], 0x5410);
    key[2 * i + 1] = __byte_perm(low[i], high[i], 0x7632);
  }
}

__device__ __forceinline__ void Unpack(const uint4& words, std::uint32_t (&to)[4]) {
  to[0] = words.x;
  to[1] = words.y;
  to[2] = words.z;
  to[3] = words.w;
}

// A block's rows, and for each class one of them that speaks for it.
template <std::uint32_t kBits>
struct Table {
  static constexpr std::uint32_t kSlots = 1u << kBits;
  std::uint32_t* slots;    // the row that holds it
  std::uint32_t* keys;     // of each row; of a representative, in the end, its class
  std::uint16_t* classes;  // of the result: of each row, on the way, its representative
  std::uint32_t last;      // row; those behind it are its copies
  bool direct;             // the key is the slot

  __device__ __forceinline__ std::uint32_t Slot(std::uint32_t key) const {
    return direct ? key : key * 2654435769u >> (32 - kBits);
  }

  // The lowest row of each slot shall hold it: most rows see one before them and leave it so.
  __device__ __forceinline__ void TakeOwnership(std::uint32_t key, std::uint32_t row) {
    std::uint32_t* slot = slots + Slot(key);
    if (*static_cast<volatile std::uint32_t*>(slot) > row) atomicMin(slot, row);
  }

  // Rows `lost` of eight whose slot another key holds.
  __device__ __forceinline__ void ResolveRows(std::uint32_t row, std::uint32_t lost) {
    for (; lost != 0; lost &= lost - 1) Resolve(row + static_cast<std::uint32_t>(__ffs(lost)) - 1);
  }

  // Takes the next free slot, or finds the row's key in one.
  __device__ __forceinline__ void Resolve(std::uint32_t row) {
    const std::uint32_t key = keys[row];
    for (std::uint32_t slot = Slot(key);; slot = (slot + 1) % kSlots) {
      std::uint32_t found = *static_cast<volatile std::uint32_t*>(slots + slot);
      if (found == kEmpty) {
        const std::uint32_t own = min(row, last);
        found = atomicCAS(slots + slot, kEmpty, own);
        if (found == kEmpty) found = own;
      }
      if (keys[found] != key) continue;
      classes[row] = static_cast<std::uint16_t>(found);
      return;
    }
  }
};

template <class Size>
__global__ void __launch_bounds__(Size::kThreads, Size::kBlocks) GroupRows(GroupingLaunch p) {
  constexpr std::uint32_t kThreads = Size::kThreads;
  constexpr std::uint32_t kSlots = 1u << Size::kBits;
  constexpr std::uint32_t kRounds =
      (Size::kRows + kThreads * kRowsAtOnce - 1) / (kThreads * kRowsAtOnce);
  extern __shared__ uint4 shared[];
  auto* slots = reinterpret_cast<std::uint32_t*>(shared);
  auto* keys = slots + kSlots;
  auto* program = keys + p.stride;
  __shared__ std::uint32_t count, listed;
  __shared__ std::uint32_t list[kListed];
  const SharedSubtree subtree = p.subtrees[blockIdx.x];
  Table<Size::kBits> table{slots, keys,
                           p.output.classes + static_cast<std::size_t>(blockIdx.x) * p.stride,
                           p.rows - 1, subtree.keys <= kSlots};
  const std::uint32_t used = table.direct ? (subtree.keys + 3) / 4 : kSlots / 4;
  for (std::uint32_t i = threadIdx.x; i < subtree.key_words + kGroupWords; i += kThreads) {
    program[i] = i < subtree.key_words ? p.keys[subtree.first_key + i] : 0;
  }
  for (std::uint32_t i = threadIdx.x; i < used; i += kThreads) {
    shared[i] = make_uint4(kEmpty, kEmpty, kEmpty, kEmpty);
  }
  if (threadIdx.x == 0) count = listed = 0;
  __syncthreads();

  const std::uint32_t first = threadIdx.x * kRowsAtOnce;
#pragma unroll 1
  for (std::uint32_t row = first; row < p.stride; row += kThreads * kRowsAtOnce) {
    std::uint32_t key[kRowsAtOnce];
    Keys(reinterpret_cast<const uint4*>(program), subtree.digits, p.missing, p.ranks + row,
         p.stride, key);
    auto* to = reinterpret_cast<uint4*>(keys + row);
    to[0] = make_uint4(key[0], key[1], key[2], key[3]);
    to[1] = make_uint4(key[4], key[5], key[6], key[7]);
#pragma unroll
    for (std::uint32_t i = 0; i < kRowsAtOnce; ++i)
      table.TakeOwnership(key[i], min(row + i, p.rows - 1));
  }
  __syncthreads();

  // Who holds the row's slot, and whether its key is the row's.
#pragma unroll 1
  for (std::uint32_t row = first; row < p.stride; row += kThreads * kRowsAtOnce) {
    std::uint32_t key[2][4];
    std::uint32_t representative[kRowsAtOnce];
    Unpack(reinterpret_cast<const uint4*>(keys + row)[0], key[0]);
    Unpack(reinterpret_cast<const uint4*>(keys + row)[1], key[1]);
    std::uint32_t lost = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
      representative[i] = slots[table.Slot(key[i / 4][i % 4])];
      if (keys[representative[i]] != key[i / 4][i % 4]) lost |= 1u << i;
    }
    *reinterpret_cast<uint4*>(table.classes + row) = make_uint4(
        representative[0] | representative[1] << 16, representative[2] | representative[3] << 16,
        representative[4] | representative[5] << 16, representative[6] | representative[7] << 16);
    if (lost != 0) {
      const std::uint32_t place = atomicAdd(&listed, 1u);
      if (place < kListed) {
        list[place] = row << 8 | lost;
      } else {
        table.ResolveRows(row, lost);
      }
    }
  }
  __syncthreads();
  const std::uint32_t waiting = min(listed, kListed);
  for (std::uint32_t i = threadIdx.x; i < waiting; i += kThreads) {
    table.ResolveRows(list[i] >> 8, list[i] & 0xffu);
  }
  __syncthreads();

  // Speakers are numbered, and their keys make way for the numbers.
  std::uint32_t* members = p.output.representatives + static_cast<std::size_t>(blockIdx.x) * p.rows;
  uint4 representatives[kRounds];
#pragma unroll
  for (std::uint32_t k = 0; k < kRounds; ++k) {
    const std::uint32_t row = first + k * kThreads * kRowsAtOnce;
    const bool active = row < p.stride;
    std::uint32_t words[4];
    if (active) representatives[k] = *reinterpret_cast<const uint4*>(table.classes + row);
    Unpack(representatives[k], words);
    std::uint32_t mine = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
      if (active && (words[i / 2] >> (i % 2 * 16) & 0xffffu) == row + i) mine |= 1u << i;
    }
    const auto won = static_cast<std::uint32_t>(__popc(mine));
    std::uint32_t number = won;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t before = __shfl_up_sync(0xffffffffu, number, step);
      if (threadIdx.x % 32 >= step) number += before;
    }
    std::uint32_t base = 0;
    if (threadIdx.x % 32 == 31) base = atomicAdd(&count, number);
    number += __shfl_sync(0xffffffffu, base, 31) - won;
    for (; mine != 0; mine &= mine - 1) {
      const std::uint32_t representative = row + static_cast<std::uint32_t>(__ffs(mine)) - 1;
      keys[representative] = number;
      members[number++] = representative;
    }
  }
  __syncthreads();
#pragma unroll
  for (std::uint32_t k = 0; k < kRounds; ++k) {
    const std::uint32_t row = first + k * kThreads * kRowsAtOnce;
    if (row >= p.stride) break;
    std::uint32_t words[4];
    Unpack(representatives[k], words);
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = keys[words[i] & 0xffffu] | keys[words[i] >> 16] << 16;
    *reinterpret_cast<uint4*>(table.classes + row) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }

  if (threadIdx.x == 0) {
    const std::uint32_t items = (count + p.classes_per_item - 1) / p.classes_per_item;
    const std::uint32_t item = atomicAdd(p.output.counters + kItems, items);
    const std::uint32_t base = atomicAdd(p.output.counters + kTableGroups, count * subtree.width);
    p.output.bases[blockIdx.x] = base;
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t first_class = i * p.classes_per_item;
      p.output.items[item + i] = {blockIdx.x, min(p.classes_per_item, count - first_class),
                                  blockIdx.x * p.rows + first_class,
                                  base + first_class * subtree.width};
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
  const std::size_t bytes =
      ((1u << Size::kBits) + launch.stride + launch.most_key_words + kGroupWords) *
      sizeof(std::uint32_t);
  AllowSharedMemory(GroupRows<Size>, bytes);
  GroupRows<Size><<<launch.subtree_count, Size::kThreads, bytes, stream>>>(launch);
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
