#include "algorithms/treeshap/quadrature/sharing/row_classes.cuh"

#include <algorithm>

#include "base/cuda/launch_bounds.cuh"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kEmpty = 0xffffffffu;
constexpr std::uint32_t kRowsAtOnce = 8;          // of a thread
constexpr std::uint32_t kTwos = kRowsAtOnce / 2;  // words of two rows

__global__ void RankRows(RankedRows from, const float* thresholds, const std::uint32_t* begin,
                         std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                         std::uint16_t* ranks) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= stride) return;
  // Padding rows are like the last.
  const std::uint32_t place = min(row, rows - 1);
  const float* x = from.x + (from.order != nullptr ? from.order[place] : place) * from.row_step;
  for (std::uint32_t f = blockIdx.y; f < features; f += gridDim.y) {
    const float value = x[f * from.feature_step];
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
  // above 16 bits, so borrows between the packed halves cancel.
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

// Hash table of a block's rows. The owner of a slot is the representative of its row class.
template <std::uint32_t kBits>
struct ClassTable {
  static constexpr std::uint32_t kSlots = 1u << kBits;
  std::uint32_t* slots;    // row that owns it
  std::uint32_t* keys;     // key of each row; later the class of each representative
  std::uint16_t* classes;  // result; first the representative of each row
  std::uint32_t last;      // row; those behind it are its copies
  bool direct;             // the key is the slot

  __device__ __forceinline__ std::uint32_t Slot(std::uint32_t key) const {
    return direct ? key : key * 2654435769u >> (32 - kBits);
  }

  // atomicMin: the lowest row owns the slot; most rows see a lower owner and skip it.
  __device__ __forceinline__ void TakeOwnership(std::uint32_t key, std::uint32_t row) {
    std::uint32_t* slot = slots + Slot(key);
    if (*static_cast<volatile std::uint32_t*>(slot) > row) atomicMin(slot, row);
  }

  // Resolves the rows `lost` of eight: another key owns their slot.
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

// Shared memory of a block, and the part of its work that is the same for both sizes.
template <class Size>
struct Grouping {
  static constexpr std::uint32_t kThreads = Size::kThreads;
  static constexpr std::uint32_t kStep = kThreads * kRowsAtOnce;
  static constexpr std::uint32_t kRounds = (Size::kRows + kStep - 1) / kStep;

  // Copies the key program and empties the hash table.
  static __device__ __forceinline__ void Begin(const GroupingLaunch& p,
                                               const SharedSubtree& subtree, bool direct,
                                               std::uint32_t* program, uint4* slots) {
    const std::uint32_t used = direct ? (subtree.keys + 3) / 4 : (1u << Size::kBits) / 4;
    for (std::uint32_t i = threadIdx.x; i < subtree.key_words + kGroupWords; i += kThreads) {
      program[i] = i < subtree.key_words ? p.keys[subtree.first_key + i] : 0;
    }
    for (std::uint32_t i = threadIdx.x; i < used; i += kThreads) {
      slots[i] = make_uint4(kEmpty, kEmpty, kEmpty, kEmpty);
    }
  }

  // Writes the keys of all rows and gives each slot to its lowest row.
  static __device__ __forceinline__ void EnterKeys(const GroupingLaunch& p, std::uint32_t digits,
                                                   const std::uint32_t* program,
                                                   ClassTable<Size::kBits>& table) {
#pragma unroll 1
    for (std::uint32_t row = threadIdx.x * kRowsAtOnce; row < p.stride; row += kStep) {
      std::uint32_t key[kRowsAtOnce];
      Keys(reinterpret_cast<const uint4*>(program), digits, p.missing, p.ranks + row, p.stride,
           key);
      auto* to = reinterpret_cast<uint4*>(table.keys + row);
      to[0] = make_uint4(key[0], key[1], key[2], key[3]);
      to[1] = make_uint4(key[4], key[5], key[6], key[7]);
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        table.TakeOwnership(key[i], min(row + i, p.rows - 1));
      }
    }
  }

  // Writes each row's representative: the owner of its slot. Rows whose slot another key owns are
  // listed, or resolved at once where the list is full.
  static __device__ __forceinline__ void FindRepresentatives(std::uint32_t stride,
                                                             ClassTable<Size::kBits>& table,
                                                             std::uint32_t* listed,
                                                             std::uint32_t* list) {
#pragma unroll 1
    for (std::uint32_t row = threadIdx.x * kRowsAtOnce; row < stride; row += kStep) {
      std::uint32_t key[2][4];
      std::uint32_t found[kRowsAtOnce];
      Unpack(reinterpret_cast<const uint4*>(table.keys + row)[0], key[0]);
      Unpack(reinterpret_cast<const uint4*>(table.keys + row)[1], key[1]);
      std::uint32_t lost = 0;
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        found[i] = table.slots[table.Slot(key[i / 4][i % 4])];
        if (table.keys[found[i]] != key[i / 4][i % 4]) lost |= 1u << i;
      }
      *reinterpret_cast<uint4*>(table.classes + row) =
          make_uint4(found[0] | found[1] << 16, found[2] | found[3] << 16,
                     found[4] | found[5] << 16, found[6] | found[7] << 16);
      if (lost != 0) {
        const std::uint32_t entry = atomicAdd(listed, 1u);
        if (entry < kListedEights) {
          list[entry] = row << 8 | lost;
        } else {
          table.ResolveRows(row, lost);
        }
      }
    }
  }

  // Numbers the representatives; the numbers replace their keys. Keeps each row's representative.
  static __device__ __forceinline__ void NumberClasses(const GroupingLaunch& p,
                                                       ClassTable<Size::kBits>& table,
                                                       std::uint32_t* count,
                                                       uint4 (&representatives)[kRounds]) {
    std::uint32_t* list = p.output.representatives + static_cast<std::size_t>(blockIdx.x) * p.rows;
#pragma unroll
    for (std::uint32_t k = 0; k < kRounds; ++k) {
      const std::uint32_t row = threadIdx.x * kRowsAtOnce + k * kStep;
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
      if (threadIdx.x % 32 == 31) base = atomicAdd(count, number);
      number += __shfl_sync(0xffffffffu, base, 31) - won;
      for (; mine != 0; mine &= mine - 1) {
        const std::uint32_t representative = row + static_cast<std::uint32_t>(__ffs(mine)) - 1;
        table.keys[representative] = number;
        list[number++] = representative;
      }
    }
  }

  // Replaces each row's representative by the number of its row class.
  static __device__ __forceinline__ void WriteClasses(std::uint32_t stride,
                                                      ClassTable<Size::kBits>& table,
                                                      const uint4 (&representatives)[kRounds]) {
#pragma unroll
    for (std::uint32_t k = 0; k < kRounds; ++k) {
      const std::uint32_t row = threadIdx.x * kRowsAtOnce + k * kStep;
      if (row >= stride) break;
      std::uint32_t words[4];
      Unpack(representatives[k], words);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = table.keys[words[i] & 0xffffu] | table.keys[words[i] >> 16] << 16;
      }
      *reinterpret_cast<uint4*>(table.classes + row) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }

  // Cuts the row classes into items and takes room for them in the table. One thread.
  static __device__ __forceinline__ void WriteItems(const GroupingLaunch& p, std::uint32_t count,
                                                    std::uint32_t width) {
    const std::uint32_t items = (count + p.classes_per_item - 1) / p.classes_per_item;
    const std::uint32_t item = atomicAdd(p.output.counters + kItems, items);
    const std::uint32_t base = atomicAdd(p.output.counters + kTableGroups, count * width);
    p.output.bases[blockIdx.x] = base;
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t first_class = i * p.classes_per_item;
      p.output.items[item + i] = {blockIdx.x, min(p.classes_per_item, count - first_class),
                                  blockIdx.x * p.rows + first_class, base + first_class * width};
    }
  }
};

template <class Size>
__global__ void __launch_bounds__(Size::kThreads, BlocksWithin(Size::kThreads, Size::kBlocks))
    GroupRows(GroupingLaunch p) {
  using G = Grouping<Size>;
  constexpr std::uint32_t kSlots = 1u << Size::kBits;
  extern __shared__ uint4 shared[];
  auto* slots = reinterpret_cast<std::uint32_t*>(shared);
  auto* keys = slots + kSlots;
  auto* program = keys + p.stride;
  __shared__ std::uint32_t count, listed;
  __shared__ std::uint32_t list[kListedEights];
  const SharedSubtree subtree = p.subtrees[blockIdx.x];
  ClassTable<Size::kBits> table{slots, keys,
                                p.output.classes + static_cast<std::size_t>(blockIdx.x) * p.stride,
                                p.rows - 1, subtree.keys <= kSlots};
  G::Begin(p, subtree, table.direct, program, shared);
  if (threadIdx.x == 0) count = listed = 0;
  __syncthreads();
  G::EnterKeys(p, subtree.digits, program, table);
  __syncthreads();
  G::FindRepresentatives(p.stride, table, &listed, list);
  __syncthreads();
  const std::uint32_t waiting = min(listed, kListedEights);
  for (std::uint32_t i = threadIdx.x; i < waiting; i += Size::kThreads) {
    table.ResolveRows(list[i] >> 8, list[i] & 0xffu);
  }
  __syncthreads();
  uint4 representatives[G::kRounds];
  G::NumberClasses(p, table, &count, representatives);
  __syncthreads();
  G::WriteClasses(p.stride, table, representatives);
  if (threadIdx.x == 0) G::WriteItems(p, count, subtree.width);
}

}  // namespace

void LaunchRanks(const RankedRows& from, const float* thresholds, const std::uint32_t* begin,
                 std::uint32_t features, std::uint32_t rows, std::uint32_t stride,
                 std::uint16_t* ranks, cudaStream_t stream) {
  const dim3 grid((stride + 127) / 128, std::min<std::uint32_t>(features, 1024));
  RankRows<<<grid, 128, 0, stream>>>(from, thresholds, begin, features, rows, stride, ranks);
  CheckCuda(cudaGetLastError(), "ranks");
}

namespace {

//! Bytes of dynamic shared memory: the hash table, keys of the rows, the key program.
template <class Size>
constexpr std::size_t GroupingBytes(std::uint32_t stride, std::uint32_t key_words) {
  return ((1u << Size::kBits) + stride + key_words + kGroupWords) * sizeof(std::uint32_t);
}

template <class Size>
void LaunchSize(const GroupingLaunch& launch, cudaStream_t stream) {
  const std::size_t bytes = GroupingBytes<Size>(launch.stride, launch.most_key_words);
  AllowSharedMemory(GroupRows<Size>, bytes);
  GroupRows<Size><<<launch.subtree_count, Size::kThreads, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "grouping");
}

}  // namespace

std::uint32_t MostGroupedRows() {
  constexpr std::size_t kList = kListedEights * sizeof(std::uint32_t);
  constexpr std::uint32_t kKeyWords = 2048;  // more than any key program that was seen
  return GroupingBytes<ManyRows>(kGroupedRows, kKeyWords) + kList <= SharedMemoryLimit()
             ? kGroupedRows
             : kFewerGroupedRows;
}

void LaunchGrouping(const GroupingLaunch& launch, cudaStream_t stream) {
  if (launch.rows <= kFewGroupedRows) {
    LaunchSize<FewRows>(launch, stream);
  } else if (MostGroupedRows() == kGroupedRows) {
    LaunchSize<ManyRows>(launch, stream);
  } else {
    LaunchSize<FewerRows>(launch, stream);
  }
}

}  // namespace retable::treeshap
