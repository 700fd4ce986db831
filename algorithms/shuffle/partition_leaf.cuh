#pragma once
//! @file
//! Last pass of the partition shuffle on the GPU: leaves shuffled in shared memory.
//!
//! The slots of a leaf are sorted into 1792 bins by digit, by the same means as a tile of the
//! scatter pass. A thread owns four bins of about four slots each; one Philox block draws the swaps
//! of all four, which it makes in registers: the order of a bin is a word of nibbles, published
//! with the place where the bin begins. A slot then reads the word of its bin, takes its nibble and
//! so knows its place: its item goes there, and the leaf is written in a stream, 16 bytes a store.
//! No item is moved twice in shared memory, no thread walks through a bin. Two leaves an SM, so
//! that one computes while the other waits; the items are fetched into the cache while digits are
//! drawn. Bins of more than 12 slots (one leaf in ten has one) are swapped in place afterwards.
//! Bytes an item: sizeof(Item) read, sizeof(Item) written. About 70 instructions an item.

#include "algorithms/shuffle/arrival.cuh"
#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

inline constexpr int kLeafWarps = 14;
inline constexpr int kLeafThreads = kLeafWarps * 32;
inline constexpr int kLeafEach = 16;  //!< slots a thread
static_assert(kLeafThreads * kLeafEach == kLeafCapacity && kLeafThreads * 4 == kBins);

//! Where leaves too large for shared memory are put aside: `used` counts items taken.
template <class Item>
struct Overflow {
  Item* items;
  std::uint32_t* order;
  std::uint32_t capacity;
  std::uint32_t* used;
};

template <class Item>
constexpr std::size_t LeafBytes() {
  return 256 + (kLeafCapacity * sizeof(Item) + 16) + kBins * (4 * 4 + 8);
}

//! Shuffles the items of a leaf of any size in global memory: thread t gathers the slots of bins
//! t, t + 448, .... Slow, and all but never needed.
template <class Item>
__device__ __noinline__ void ShuffleLargeLeaf(const Philox4x32& random, std::uint64_t leaf,
                                              const Overflow<Item>& overflow, const Item* in,
                                              Item* out, std::uint32_t m, std::uint32_t* warps) {
  __shared__ std::uint32_t aside;
  if (threadIdx.x == 0) aside = atomicAdd(overflow.used, m);
  __syncthreads();
  if (aside + m > overflow.capacity) __trap();
  Item* items = overflow.items + aside;
  std::uint32_t* order = overflow.order + aside;
  for (std::uint32_t s = threadIdx.x; s < m; s += kLeafThreads) items[s] = in[s];
  const auto bin_of = [&](std::uint32_t s) {
    return Digit(DigitBlock(random, LeafStream(leaf), s >> 8, s & 31),
                 static_cast<int>((s >> 5) & 7), kBins);
  };
  std::uint32_t begin = 0;
  for (std::uint32_t bin = threadIdx.x; bin < kBins; bin += kLeafThreads) {
    std::uint32_t size = 0;
    for (std::uint32_t s = 0; s < m; ++s) size += bin_of(s) == bin;
    __syncthreads();
    std::uint32_t next = begin + ExclusiveSum<kLeafWarps>(size, warps);
    begin += warps[kLeafWarps];
    std::uint32_t* slots = order + next;
    for (std::uint32_t s = 0; s < m; ++s) {
      if (bin_of(s) == bin) order[next++] = s;
    }
    if (size <= kSmallBin) {
      const std::uint32_t word = SwapBlock(random, leaf, bin >> 2).word[bin & 3];
      const std::uint64_t places = UniformSmallOrder(random, leaf, bin, size, word);
      std::uint32_t moved[kSmallBin];
      for (std::uint32_t r = 0; r < size; ++r) moved[(places >> (4 * r)) & 15] = slots[r];
      for (std::uint32_t r = 0; r < size; ++r) slots[r] = moved[r];
    } else {
      for (std::uint32_t k = 1; k < size; ++k) {
        const std::uint32_t t = LargeSwap(random, leaf, bin, k), moving = slots[k];
        slots[k] = slots[t];
        slots[t] = moving;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t p = threadIdx.x; p < m; p += kLeafThreads) out[p] = items[order[p]];
}

//! Items of 16 bytes of output: 2 of 8 bytes, 4 of 4.
template <class Item>
struct alignas(16) Pack {
  Item item[16 / sizeof(Item)];
};

//! One block a leaf [starts[b], starts[b + 1]); in == out or no overlap.
template <class Item, bool kLanesInOrder>
__global__ void __launch_bounds__(kLeafThreads, 2)
    ShuffleLeaves(Philox4x32 random, const Item* in, Item* out,
                  const std::uint32_t* __restrict__ starts, std::uint32_t capacity,
                  Overflow<Item> overflow) {
  constexpr std::uint32_t kPack = 16 / sizeof(Item);
  constexpr std::uint32_t kBytes = 0x01010101u;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  // [warp / 4][bin]: a byte for each of four warps.
  auto* count = reinterpret_cast<std::uint32_t*>(shared + 256 + kLeafCapacity * sizeof(Item) + 16);
  // [bin]: the order of its slots in 48 bits, and over them the place where it begins.
  auto* orders = reinterpret_cast<std::uint64_t*>(count + 4 * kBins);
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto* my_count = count + (warp >> 2) * kBins;
  const std::uint32_t my_byte = warp & 3;
  const auto* my_before = reinterpret_cast<const std::uint8_t*>(my_count) + my_byte;

  const std::uint64_t leaf = blockIdx.x;
  const std::uint32_t begin = starts[leaf], m = starts[leaf + 1] - begin;
  if (m == 0) return;
  in += begin;
  out += begin;
  if (m > capacity) return ShuffleLargeLeaf(random, leaf, overflow, in, out, m, warps);
  PrefetchToCache(in, m);
  for (std::uint32_t c = threadIdx.x; c < kBins; c += kLeafThreads) {
    reinterpret_cast<uint4*>(count)[c] = make_uint4(0, 0, 0, 0);
  }
  __syncthreads();

  const std::uint32_t first_slot = warp * (kLeafEach * 32) + lane;
  std::uint32_t word[kLeafEach];  // bin in the low half, arrival number in the high
#pragma unroll
  for (int h = 0; h < kLeafEach / 8; ++h) {
    const PhiloxBlock block =
        DigitBlock(random, LeafStream(leaf), warp * (kLeafEach / 8) + h, lane);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint32_t bin = Digit(block, j, kBins);
      const bool valid = first_slot + (h * 8 + j) * 32 < m;
      const std::uint32_t old = Arrive<kLanesInOrder>(&my_count[bin], 1u << (8 * my_byte), valid);
      word[h * 8 + j] = bin | (((old >> (8 * my_byte)) & 0xFFu) << 16);
    }
  }
  __syncthreads();
  // Thread t accounts for bins 4 t .. 4 t + 3.
  std::uint32_t size[4] = {0, 0, 0, 0};
  const auto turn_to_before = [](std::uint32_t& counts, std::uint32_t& sum) {
    const std::uint32_t before = counts * 0x01010100u + sum * kBytes;  // of the warps before each
    sum = __dp4a(counts, kBytes, sum);
    counts = before;
  };
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    uint4& shared_counts = reinterpret_cast<uint4*>(count + q * kBins)[threadIdx.x];
    uint4 counts = shared_counts;
    turn_to_before(counts.x, size[0]);
    turn_to_before(counts.y, size[1]);
    turn_to_before(counts.z, size[2]);
    turn_to_before(counts.w, size[3]);
    shared_counts = counts;
  }
  const std::uint32_t first =
      ExclusiveSum<kLeafWarps>(size[0] + size[1] + size[2] + size[3], warps);
  const std::uint32_t begins[4] = {first, first + size[0], first + size[0] + size[1],
                                   first + size[0] + size[1] + size[2]};
  bool large = false;
  {
    PhiloxBlock draws = SwapBlock(random, leaf, threadIdx.x);
    std::uint64_t own_orders[4];
    UniformSmallOrders(random, leaf, 4 * threadIdx.x, size, draws.word, own_orders);
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      // A larger bin is left as it is for now: nibble r is r.
      if (size[b] > kSmallBin) own_orders[b] = 0xBA9876543210ull;
      own_orders[b] |= static_cast<std::uint64_t>(begins[b]) << 48;
      large = large || size[b] > kSmallBin;
    }
    reinterpret_cast<ulonglong2*>(orders)[2 * threadIdx.x] =
        make_ulonglong2(own_orders[0], own_orders[1]);
    reinterpret_cast<ulonglong2*>(orders)[2 * threadIdx.x + 1] =
        make_ulonglong2(own_orders[2], own_orders[3]);
  }
  // Bytes count to 255; a bin that has more would spoil its neighbours' counts, and the total.
  const bool overrun =
      size[0] > 255 || size[1] > 255 || size[2] > 255 || size[3] > 255 || warps[kLeafWarps] != m;
  if (__syncthreads_or(overrun)) {
    return ShuffleLargeLeaf(random, leaf, overflow, in, out, m, warps);
  }
  // Places are counted from the last multiple of 16 bytes, so that whole packs are written.
  const auto before =
      static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(out) / sizeof(Item)) & (kPack - 1);
  constexpr int kAhead = 8;  // loads a thread has under way
#pragma unroll
  for (int h = 0; h < kLeafEach; h += kAhead) {
    Item item[kAhead];
#pragma unroll
    for (int e = 0; e < kAhead; ++e) {
      if (first_slot + (h + e) * 32 < m) item[e] = in[first_slot + (h + e) * 32];
    }
#pragma unroll
    for (int e = 0; e < kAhead; ++e) {
      if (first_slot + (h + e) * 32 < m) {
        const std::uint32_t bin = word[h + e] & 0xFFFFu;
        const std::uint32_t rank = my_before[4 * bin] + (word[h + e] >> 16);
        const std::uint64_t order = orders[bin];
        const std::uint32_t nibble = static_cast<std::uint32_t>(order >> (4 * rank)) & 15u;
        const std::uint32_t in_bin = rank < kSmallBin ? nibble : rank;
        items[before + static_cast<std::uint32_t>(order >> 48) + in_bin] = item[e];
      }
    }
  }
  if (__syncthreads_or(large)) {
    for (std::uint32_t b = 0; b < 4; ++b) {
      const std::uint64_t* own = &orders[4 * threadIdx.x];
      const std::uint32_t start = static_cast<std::uint32_t>(own[b] >> 48);
      const std::uint32_t end =
          4 * threadIdx.x + b + 1 < kBins ? static_cast<std::uint32_t>(own[b + 1] >> 48) : m;
      if (end - start <= kSmallBin) continue;
      Item* bin = items + before + start;
      for (std::uint32_t k = 1; k < end - start; ++k) {
        const std::uint32_t t = LargeSwap(random, leaf, 4 * threadIdx.x + b, k);
        const Item moving = bin[k];
        bin[k] = bin[t];
        bin[t] = moving;
      }
    }
    __syncthreads();
  }
  const std::uint32_t end = before + m;
  Item* target = out - before;
  for (std::uint32_t q = threadIdx.x * kPack; q < end; q += kLeafThreads * kPack) {
    if (q >= before && q + kPack <= end) {
      *reinterpret_cast<Pack<Item>*>(target + q) = *reinterpret_cast<const Pack<Item>*>(items + q);
    } else {
      for (std::uint32_t k = q; k < q + kPack; ++k) {
        if (k >= before && k < end) target[k] = items[k];
      }
    }
  }
}

}  // namespace retable::shuffle
