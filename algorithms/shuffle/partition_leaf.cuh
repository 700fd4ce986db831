#pragma once
//! @file
//! Second pass of the partition shuffle on the GPU: leaves ordered by random keys in shared memory,
//! and the exchange between the blocks of a cluster that makes leaves of larger buckets.
//!
//! A leaf: the copy engine loads it; meanwhile each slot's key is drawn and counted in one of 2^14
//! cells (a byte each, about one slot a cell), the counts are summed, and slots are written in
//! order of cell with the next key bits. Each then looks at the others of its cell, neighbours in
//! shared memory, to find its true place; equal bits are decided by further words. Atomics come in
//! any order; the result does not depend on it. Last, items are read from shared memory in the new
//! order and written in a stream, over the bucket they came from. A bucket of several leaves: each
//! block of a cluster takes a piece, ranks its slots by second digit with warp ballots (stably),
//! and writes each item into the shared memory of the block that owns the leaf.

#include <cooperative_groups.h>

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! Slots a leaf may have in shared memory: eight standard deviations over the mean.
inline constexpr std::uint32_t kLeafCapacity = 17408;
inline constexpr std::uint32_t kCells = 1u << 14;
inline constexpr std::uint32_t kLeafGroups = kLeafCapacity / 128;  //!< groups of 128 slots
inline constexpr int kGroupsAWarp = (kLeafGroups + 31) / 32;
inline constexpr std::uint32_t kPieces =
    (kLeafCapacity + 255) / 256 + 2;  //!< groups of 256 of a piece
inline constexpr int kPiecesAWarp = (kPieces + 31) / 32;

//! Where a leaf too large for shared memory is put aside: `used` counts items taken from `items`.
template <class Item>
struct Overflow {
  Item* items;
  std::uint32_t capacity;
  std::uint32_t* used;
};

//! Layout of a block's shared memory.
template <class Item>
struct LeafShared {
  std::uint32_t* warps;  // 33 words
  std::uint64_t* barrier;
  std::uint32_t* totals;  // 16 x 16 words: slots each block of the cluster sends to each
  Item* items;            // kLeafCapacity + 4
  std::uint32_t* order;   // kLeafCapacity + 1
  uint2* cells;           // kCells / 8: eight counters of a byte
  std::uint16_t* starts;  // kCells / 8: slots before these eight cells

  static constexpr std::size_t kBytes = 256 + 1024 + (kLeafCapacity + 4) * sizeof(Item) +
                                        (kLeafCapacity + 4) * 4 + kCells + kCells / 8 * 2;
  __device__ explicit LeafShared(unsigned char* shared)
      : warps(reinterpret_cast<std::uint32_t*>(shared)),
        barrier(reinterpret_cast<std::uint64_t*>(shared + 192)),
        totals(reinterpret_cast<std::uint32_t*>(shared + 256)),
        items(reinterpret_cast<Item*>(shared + 1280)),
        order(reinterpret_cast<std::uint32_t*>(shared + 1280 + (kLeafCapacity + 4) * sizeof(Item))),
        cells(reinterpret_cast<uint2*>(order + kLeafCapacity + 4)),
        starts(reinterpret_cast<std::uint16_t*>(cells + kCells / 8)) {}
};

//! Whether slot a of the leaf comes before slot b, from scratch.
__device__ __noinline__ bool LeafBefore(Philox4x32 random, std::uint64_t leaf, std::uint32_t a,
                                        std::uint32_t b) {
  const std::uint32_t key_a = LeafKey(random, leaf, a), key_b = LeafKey(random, leaf, b);
  return key_a != key_b ? key_a < key_b : LeafTieBefore(random, leaf, a, b);
}

//! A leaf over capacity: every slot counts the slots before it. Slow, and all but never needed.
template <class Item>
__device__ __noinline__ void OrderLargeLeaf(Philox4x32 random, std::uint64_t leaf, const Item* from,
                                            Item* to, std::uint32_t m) {
  for (std::uint32_t s = threadIdx.x; s < m; s += blockDim.x) {
    std::uint32_t before = 0;
    for (std::uint32_t other = 0; other < m; ++other) {
      before += other != s && LeafBefore(random, leaf, other, s);
    }
    to[before] = from[s];
  }
}

__device__ __forceinline__ std::uint32_t ByteSum(std::uint32_t word) {
  return __dp4a(word, 0x01010101u, 0u);
}

//! Writes the m items at shared.items[shift...] to out in the leaf's order. `ready` is called
//! before the items are first read. The cells must be zero; a barrier lies before the call.
template <class Item, class Ready>
__device__ __forceinline__ void OrderLeafInShared(const Philox4x32& random, std::uint64_t leaf,
                                                  const LeafShared<Item>& shared, std::uint32_t m,
                                                  Item* __restrict__ out, Ready&& ready) {
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto* cell_words = reinterpret_cast<std::uint32_t*>(shared.cells);
  std::uint32_t key[kGroupsAWarp * 4];
  std::uint32_t arrival[kGroupsAWarp];  // a byte for each of four keys
#pragma unroll
  for (int g = 0; g < kGroupsAWarp; ++g) {
    const std::uint32_t group = warp + 32 * g;
    arrival[g] = 0;
    if (group * 128 < m) {
      const PhiloxBlock block = LeafKeyBlock(random, leaf, group, lane);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        key[4 * g + w] = block.word[w];
        if (group * 128 + w * 32 + lane < m) {
          const std::uint32_t cell = block.word[w] >> 18;
          const std::uint32_t at = (cell & 3) * 8;
          const std::uint32_t old = atomicAdd(&cell_words[cell >> 2], 1u << at);
          arrival[g] |= ((old >> at) & 0xFFu) << (8 * w);
        }
      }
    }
  }
  __syncthreads();
  {
    constexpr int kOwn = kCells / 8 / 1024;
    uint2 own[kOwn];
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      own[c] = shared.cells[threadIdx.x * kOwn + c];
      sum += ByteSum(own[c].x) + ByteSum(own[c].y);
    }
    std::uint32_t running = ExclusiveSum1024(sum, shared.warps);
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      shared.starts[threadIdx.x * kOwn + c] = static_cast<std::uint16_t>(running);
      running += ByteSum(own[c].x) + ByteSum(own[c].y);
    }
  }
  if (threadIdx.x == 0) shared.order[m] = 0x80000000u;
  __syncthreads();
#pragma unroll
  for (int g = 0; g < kGroupsAWarp; ++g) {
    const std::uint32_t group = warp + 32 * g;
    if (group * 128 < m) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const std::uint32_t slot = group * 128 + w * 32 + lane;
        if (slot < m) {
          const std::uint32_t cell = key[4 * g + w] >> 18;
          const uint2 pair = shared.cells[cell >> 3];
          const std::uint32_t below = (1u << ((cell & 3) * 8)) - 1;
          const std::uint32_t before =
              (cell & 4) ? ByteSum(pair.x) + ByteSum(pair.y & below) : ByteSum(pair.x & below);
          const std::uint32_t number = (arrival[g] >> (8 * w)) & 0xFFu;
          const std::uint32_t first = number == 0 ? 0x80000000u : 0u;  // marks where a cell begins
          shared.order[shared.starts[cell >> 3] + before + number] =
              first | (((key[4 * g + w] >> 2) & 0xFFFFu) << 15) | slot;
        }
      }
    }
  }
  const std::uint32_t shift = ready();
  __syncthreads();
  const auto precedes = [&](std::uint32_t other, std::uint32_t mine) {
    const std::uint32_t a = (other >> 15) & 0xFFFFu, b = (mine >> 15) & 0xFFFFu;
    if (a != b) return a < b;
    return LeafBefore(random, leaf, other & 0x7FFFu, mine & 0x7FFFu);
  };
#pragma unroll 2
  for (std::uint32_t p = threadIdx.x; p < m; p += 1024) {
    const std::uint32_t mine = shared.order[p];
    std::uint32_t to = p;
    std::uint32_t q = p, other = mine;
    while ((other >> 31) == 0) {
      other = shared.order[--q];
      if (!precedes(other, mine)) --to;
    }
    for (q = p + 1; ((other = shared.order[q]) >> 31) == 0; ++q) {
      if (precedes(other, mine)) ++to;
    }
    out[to] = shared.items[shift + (mine & 0x7FFFu)];
  }
}

//! One block a leaf of [starts[b], starts[b + 1]); in == out or no overlap.
template <class Item>
__global__ void __launch_bounds__(1024, 1)
    OrderLeaves(Philox4x32 random, const Item* in, Item* out,
                const std::uint32_t* __restrict__ starts, std::uint32_t capacity,
                Overflow<Item> overflow) {
  extern __shared__ __align__(128) unsigned char bytes[];
  const LeafShared<Item> shared(bytes);
  const std::uint64_t leaf = blockIdx.x;
  const std::uint32_t begin = starts[leaf], m = starts[leaf + 1] - begin;
  if (m == 0) return;
  if (m > capacity) {
    __shared__ std::uint32_t aside;
    if (threadIdx.x == 0) aside = atomicAdd(overflow.used, m);
    __syncthreads();
    if (aside + m > overflow.capacity) __trap();
    for (std::uint32_t s = threadIdx.x; s < m; s += 1024) overflow.items[aside + s] = in[begin + s];
    __syncthreads();
    return OrderLargeLeaf(random, leaf, overflow.items + aside, out + begin, m);
  }
  for (std::uint32_t c = threadIdx.x; c < kCells / 8; c += 1024) shared.cells[c] = make_uint2(0, 0);
  BulkLoad<Item> load{shared.barrier};
  load.Init();
  __syncthreads();
  load.Start(in + begin, m, shared.items);
  OrderLeafInShared(random, leaf, shared, m, out + begin, [&] {
    load.Wait();
    return load.shift;
  });
}

//! One cluster a bucket; block r of a cluster owns leaf r. In place.
template <class Item>
__global__ void __launch_bounds__(1024, 1)
    ExchangeAndOrder(Philox4x32 random, Item* items, const std::uint32_t* __restrict__ starts,
                     int second_bits, std::uint32_t capacity, Overflow<Item> overflow) {
  namespace cg = cooperative_groups;
  extern __shared__ __align__(128) unsigned char bytes[];
  const LeafShared<Item> shared(bytes);
  const cg::cluster_group cluster = cg::this_cluster();
  const std::uint32_t blocks = 1u << second_bits;
  const std::uint32_t rank = blockIdx.x & (blocks - 1);
  const std::uint64_t bucket = blockIdx.x >> second_bits;
  const std::uint32_t begin = starts[bucket], m = starts[bucket + 1] - begin;
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  // Pieces of 256 slots; a block takes consecutive ones.
  const std::uint32_t pieces = (m + 255) / 256;
  const std::uint32_t each = (pieces + blocks - 1) / blocks;
  const std::uint32_t first_piece = rank * each;
  const std::uint32_t mine =
      first_piece >= pieces ? 0 : (pieces - first_piece < each ? pieces - first_piece : each);
  const bool fits = each <= kPieces;
  auto* counts = reinterpret_cast<std::uint32_t*>(shared.cells);  // [digit][piece], then zeroed
  // All blocks of the cluster must have started before another's shared memory is written.
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");

  // Rank within the piece, by ballots: digit in the high byte, rank in the low one.
  std::uint32_t ranked[kPiecesAWarp][4];
  if (fits) {
#pragma unroll
    for (int k = 0; k < kPiecesAWarp; ++k) {
      const std::uint32_t piece = warp + 32 * k;
      if (piece < mine) {
        const PhiloxBlock block = SecondDigitBlock(random, bucket, first_piece + piece, lane);
        std::uint32_t count = 0;  // lane q: slots of digit q so far
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const bool valid = (first_piece + piece) * 256 + j * 32 + lane < m;
          const std::uint32_t digit = Digit(block, j, second_bits);
          std::uint32_t same = __ballot_sync(0xFFFFFFFFu, valid), by_lane = same;
#pragma unroll
          for (int b = 0; b < kMaxSecondBits; ++b) {
            const std::uint32_t set = __ballot_sync(0xFFFFFFFFu, (digit >> b) & 1);
            same &= ((digit >> b) & 1) ? set : ~set;
            by_lane &= ((lane >> b) & 1) ? set : ~set;
          }
          const std::uint32_t sofar = __shfl_sync(0xFFFFFFFFu, count, digit);
          const std::uint32_t place = sofar + __popc(same & ((1u << lane) - 1));
          const std::uint32_t packed = (digit << 8) | place;
          if (j & 1) {
            ranked[k][j >> 1] |= packed << 16;
          } else {
            ranked[k][j >> 1] = packed;
          }
          count += __popc(by_lane);
        }
        if (lane < blocks) counts[lane * kPieces + piece] = count;
      }
    }
  }
  __syncthreads();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  // Sums over this block's pieces, a warp a digit.
  if (fits && warp < blocks) {
    std::uint32_t running = 0;
    for (std::uint32_t p = 0; p < mine; p += 32) {
      const std::uint32_t own = p + lane < mine ? counts[warp * kPieces + p + lane] : 0;
      std::uint32_t sum = own;
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const std::uint32_t other = __shfl_up_sync(0xFFFFFFFFu, sum, d);
        if (lane >= d) sum += other;
      }
      if (p + lane < mine) counts[warp * kPieces + p + lane] = running + sum - own;
      running += __shfl_sync(0xFFFFFFFFu, sum, 31);
    }
    // Tell every block how many slots this one sends to block `warp`.
    if (lane < blocks) cluster.map_shared_rank(shared.totals, lane)[rank * 16 + warp] = running;
  }
  cluster.sync();
  std::uint32_t leaf_begin = 0, leaf_size = 0;
  bool all_fit = fits;
  if (fits) {
    for (std::uint32_t q = 0; q < blocks; ++q) {
      std::uint32_t size = 0;
      for (std::uint32_t s = 0; s < blocks; ++s) size += shared.totals[s * 16 + q];
      if (q < rank) leaf_begin += size;
      if (q == rank) leaf_size = size;
      all_fit = all_fit && size <= capacity;
    }
  }
  if (!all_fit) {
    // The whole bucket is put aside and its slots counted one by one by the first block's threads.
    if (rank == 0) {
      __shared__ std::uint32_t aside;
      if (threadIdx.x == 0) aside = atomicAdd(overflow.used, 2 * m);
      __syncthreads();
      if (aside + 2 * m > overflow.capacity) __trap();
      Item* copy = overflow.items + aside;
      for (std::uint32_t s = threadIdx.x; s < m; s += 1024) copy[s] = items[begin + s];
      __syncthreads();
      const auto digit_of = [&](std::uint32_t s) {
        return Digit(SecondDigitBlock(random, bucket, s >> 8, s & 31), (s >> 5) & 7, second_bits);
      };
      Item* split = copy + m;
      __shared__ std::uint32_t leaf_starts[17];
      if (threadIdx.x == 0) {
        for (std::uint32_t q = 0; q <= blocks; ++q) leaf_starts[q] = 0;
        for (std::uint32_t s = 0; s < m; ++s) ++leaf_starts[digit_of(s) + 1];
        for (std::uint32_t q = 0; q < blocks; ++q) leaf_starts[q + 1] += leaf_starts[q];
        std::uint32_t place[16];
        for (std::uint32_t q = 0; q < blocks; ++q) place[q] = leaf_starts[q];
        for (std::uint32_t s = 0; s < m; ++s) split[place[digit_of(s)]++] = copy[s];
      }
      __syncthreads();
      for (std::uint32_t q = 0; q < blocks; ++q) {
        OrderLargeLeaf(random, bucket * blocks + q, split + leaf_starts[q],
                       items + begin + leaf_starts[q], leaf_starts[q + 1] - leaf_starts[q]);
      }
    }
    cluster.sync();
    return;
  }
  // This block's first place in each leaf; lane q keeps that of leaf q.
  std::uint32_t base = 0;
  for (std::uint32_t s = 0; s < rank; ++s) base += shared.totals[s * 16 + (lane & 15)];
#pragma unroll
  for (int k = 0; k < kPiecesAWarp; ++k) {
    const std::uint32_t piece = warp + 32 * k;
    if (piece < mine) {
      const std::uint32_t slot = (first_piece + piece) * 256 + lane;
      Item value[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (slot + j * 32 < m) value[j] = items[begin + slot + j * 32];
      }
      const std::uint32_t piece_base = base + (lane < blocks ? counts[lane * kPieces + piece] : 0);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const std::uint32_t packed = (ranked[k][j >> 1] >> ((j & 1) * 16)) & 0xFFFFu;
        const std::uint32_t digit = packed >> 8;
        const std::uint32_t at = __shfl_sync(0xFFFFFFFFu, piece_base, digit) + (packed & 0xFFu);
        if (slot + j * 32 < m) cluster.map_shared_rank(shared.items, digit)[at] = value[j];
      }
    }
  }
  __syncthreads();
  for (std::uint32_t c = threadIdx.x; c < kCells / 8; c += 1024) shared.cells[c] = make_uint2(0, 0);
  cluster.sync();
  OrderLeafInShared(random, bucket * blocks + rank, shared, leaf_size, items + begin + leaf_begin,
                    [] { return 0u; });
}

}  // namespace retable::shuffle
