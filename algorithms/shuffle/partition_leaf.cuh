#pragma once
//! @file
//! Last pass of the partition shuffle on the GPU: leaves ordered by random keys in shared memory.
//!
//! The copy engine loads a leaf; meanwhile each slot's key is drawn and counted in one of 2^13
//! cells (four bits each, about one slot a cell), the counts are summed, and slots are written in
//! order of cell with the next key bits. Each then looks at the others of its cell, neighbours in
//! shared memory, to find its true place; equal bits are decided by further words. Atomics come in
//! any order; the result does not depend on it. Last, items are read from shared memory in the new
//! order and written in a stream. Two leaves an SM, so that one computes while the other waits.
//! Bytes an item: sizeof(Item) read, sizeof(Item) written.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

inline constexpr int kLeafThreads = 512;
inline constexpr int kCellBits = 15;
inline constexpr std::uint32_t kCellWords = (1u << kCellBits) / 8;
inline constexpr int kGroupsAWarp =
    (kLeafCapacity / 128 + kLeafThreads / 32 - 1) / (kLeafThreads / 32);

//! Where a leaf too large for shared memory is put aside: `used` counts items taken from `items`.
template <class Item>
struct Overflow {
  Item* items;
  std::uint32_t capacity;
  std::uint32_t* used;
};

template <class Item>
constexpr std::size_t LeafBytes() {
  return 256 + (kLeafCapacity + 4) * (sizeof(Item) + 4);
}

//! Whether slot a of the leaf comes before slot b, from scratch.
__device__ __noinline__ bool LeafBefore(Philox4x32 random, std::uint64_t leaf, std::uint32_t a,
                                        std::uint32_t b) {
  const std::uint32_t key_a = LeafKey(random, leaf, a), key_b = LeafKey(random, leaf, b);
  return key_a != key_b ? key_a < key_b : LeafTieBefore(random, leaf, a, b);
}

//! Every slot counts the slots before it. Slow, and all but never needed.
template <class Item>
__device__ __noinline__ void OrderByCounting(Philox4x32 random, std::uint64_t leaf,
                                             const Item* from, Item* to, std::uint32_t m) {
  for (std::uint32_t s = threadIdx.x; s < m; s += blockDim.x) {
    std::uint32_t before = 0;
    for (std::uint32_t other = 0; other < m; ++other) {
      before += other != s && LeafBefore(random, leaf, other, s);
    }
    to[before] = from[s];
  }
}

//! The place of the slot at order[p] when it shares sixteen key bits with another of its cell.
__device__ __noinline__ std::uint32_t TiedPlace(Philox4x32 random, std::uint64_t leaf,
                                                const std::uint32_t* order, std::uint32_t p) {
  const std::uint32_t slot = order[p] & 0x3FFFu;
  std::uint32_t first = p;
  while ((order[first] >> 31) == 0) --first;
  std::uint32_t place = first;
  for (std::uint32_t q = first; q == first || (order[q] >> 31) == 0; ++q) {
    place += q != p && LeafBefore(random, leaf, order[q] & 0x3FFFu, slot);
  }
  return place;
}

//! The sum of a word's eight counters of four bits.
__device__ __forceinline__ std::uint32_t NibbleSum(std::uint32_t word) {
  return __dp4a((word & 0x0F0F0F0Fu) + ((word >> 4) & 0x0F0F0F0Fu), 0x01010101u, 0u);
}

//! One block a leaf [starts[b], starts[b + 1]); in == out or no overlap.
template <class Item>
__global__ void __launch_bounds__(kLeafThreads, 2)
    OrderLeaves(Philox4x32 random, const Item* in, Item* out,
                const std::uint32_t* __restrict__ starts, std::uint32_t capacity,
                Overflow<Item> overflow) {
  constexpr int kWarps = kLeafThreads / 32;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 192);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order = reinterpret_cast<std::uint32_t*>(shared + 256 + (kLeafCapacity + 4) * sizeof(Item));
  auto* cells = order;  // in use until the order is written
  auto* cell_starts = reinterpret_cast<std::uint16_t*>(cells + kCellWords);
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  const std::uint64_t leaf = blockIdx.x;
  const std::uint32_t begin = starts[leaf], m = starts[leaf + 1] - begin;
  if (m == 0) return;
  out += begin;
  if (m > capacity) {
    __shared__ std::uint32_t aside;
    if (threadIdx.x == 0) aside = atomicAdd(overflow.used, m);
    __syncthreads();
    if (aside + m > overflow.capacity) __trap();
    for (std::uint32_t s = threadIdx.x; s < m; s += kLeafThreads) {
      overflow.items[aside + s] = in[begin + s];
    }
    __syncthreads();
    return OrderByCounting(random, leaf, overflow.items + aside, out, m);
  }
  for (std::uint32_t c = threadIdx.x; c < kCellWords; c += kLeafThreads) cells[c] = 0;
  BulkLoad<Item> load{barrier};
  load.Init();
  __syncthreads();
  load.Start(in + begin, m, items);

  // Draw keys and count them in cells.
  std::uint32_t key[kGroupsAWarp * 4];
  std::uint32_t arrival[kGroupsAWarp];  // a byte for each of four keys
  bool full = false;
#pragma unroll
  for (int g = 0; g < kGroupsAWarp; ++g) {
    const std::uint32_t group = warp + kWarps * g;
    arrival[g] = 0;
    if (group * 128 < m) {
      const PhiloxBlock block = LeafKeyBlock(random, leaf, group, lane);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        key[4 * g + w] = block.word[w];
        if (group * 128 + w * 32 + lane < m) {
          const std::uint32_t cell = block.word[w] >> (32 - kCellBits);
          const std::uint32_t at = (cell & 7) * 4;
          const std::uint32_t number = (atomicAdd(&cells[cell >> 3], 1u << at) >> at) & 0xFu;
          full = full || number == 15;  // the sixteenth carries into the neighbour
          arrival[g] |= number << (8 * w);
        }
      }
    }
  }
  if (__syncthreads_or(full)) {
    load.Wait();
    return OrderByCounting(random, leaf, items + load.shift, out, m);
  }
  {
    constexpr int kOwn = kCellWords / kLeafThreads;
    std::uint32_t sums[kOwn];
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < kOwn; ++c) sum += sums[c] = NibbleSum(cells[threadIdx.x * kOwn + c]);
    std::uint32_t running = ExclusiveSum<kWarps>(sum, warps);
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      cell_starts[threadIdx.x * kOwn + c] = static_cast<std::uint16_t>(running);
      running += sums[c];
    }
  }
  __syncthreads();
  // Places in order of the cells, kept in registers: 14 bits, then sixteen further key bits, then
  // whether the slot is the first of its cell.
#pragma unroll
  for (int g = 0; g < kGroupsAWarp; ++g) {
    if ((warp + kWarps * g) * 128 < m) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        std::uint32_t& word = key[4 * g + w];
        const std::uint32_t cell = word >> (32 - kCellBits);
        const std::uint32_t below = (1u << ((cell & 7) * 4)) - 1;
        const std::uint32_t number = (arrival[g] >> (8 * w)) & 0xFFu;
        const std::uint32_t place =
            cell_starts[cell >> 3] + NibbleSum(cells[cell >> 3] & below) + number;
        word = (number == 0 ? 0x80000000u : 0u) | (((word >> 1) & 0xFFFFu) << 14) | place;
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int g = 0; g < kGroupsAWarp; ++g) {
    const std::uint32_t slot = (warp + kWarps * g) * 128 + lane;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const std::uint32_t word = key[4 * g + w];
      if (slot + w * 32 < m) order[word & 0x3FFFu] = (word & ~0x3FFFu) | (slot + w * 32);
    }
  }
  if (threadIdx.x == 0) order[m] = 0x80000000u;
  load.Wait();
  __syncthreads();
  // Each slot finds its place among those of its cell: nearly always it is alone.
#pragma unroll 4
  for (std::uint32_t p = threadIdx.x; p < m; p += kLeafThreads) {
    const std::uint32_t mine = order[p], low = mine << 1;
    const Item item = items[load.shift + (mine & 0x3FFFu)];
    std::uint32_t to = p, q = p, other = mine;
    bool tie = false;
    while (static_cast<std::int32_t>(other) >= 0) {
      other = order[--q];
      to -= (other << 1) > low;
      tie = tie || ((other ^ mine) << 1) < (1u << 15);
    }
    for (q = p + 1; static_cast<std::int32_t>(other = order[q]) >= 0; ++q) {
      to += (other << 1) < low;
      tie = tie || ((other ^ mine) << 1) < (1u << 15);
    }
    if (tie) to = TiedPlace(random, leaf, order, p);
    out[to] = item;
  }
}

}  // namespace retable::shuffle
